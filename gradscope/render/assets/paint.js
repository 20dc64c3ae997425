// What stands in a box and how it looks, and two pens: one for the screen, one for an SVG file.

const SANS = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif";
const MANY = 1500;  // boxes in view, from which on they are drawn as a crowd where nothing can be read
const TITLE = 13, NOTE = 11.5, ROW = 16, EDGE = 10, LONGEST = 44;
const BORDERS = new Set(["SAVED", "FINDING"]);  // roles of a line that its whole box shows
const ruler = document.createElement("canvas").getContext("2d");
const widths = new Map();

function textWidth(text, size, weight = 400) {
  const key = `${weight} ${size} ${text}`;
  if (!widths.has(key)) {
    ruler.font = `${weight} ${size}px ${SANS}`;
    widths.set(key, ruler.measureText(text).width);
  }
  return widths.get(key);
}

const cut = (text, most = LONGEST) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const thousands = (count) => String(count).replace(/\B(?=(?:\d{3})+$)/g, ",");
const amount = (count, noun) => `${thousands(count)} ${noun}${count === 1 ? "" : "s"}`;

function bytes(count) {
  if (count < 1000) return `${count} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let value = count / 1000;
  while (value >= 999.5 && units.length > 1) {
    value /= 1000;
    units.shift();
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[0]}`;
}

function duration(seconds) {
  if (typeof seconds !== "number") return String(seconds);
  if (seconds < 1e-3) return `${Math.round(seconds * 1e6)} µs`;
  return seconds < 1 ? `${Number((seconds * 1e3).toPrecision(3))} ms` : `${Number(seconds.toPrecision(3))} s`;
}

// Titles, lines and roles of items; each is worked out once.
class Describer {
  constructor(tree) {
    this.tree = tree;
    this.known = new Map();
    this.of = (item) => {
      if (!this.known.has(item)) this.known.set(item, this.sized(tree.isGroup(item) ? this.group(item - tree.size) : this.node(item)));
      return this.known.get(item);
    };
  }

  sized(words) {
    const wide = words.lines.map((line) => textWidth(line.text, NOTE));
    const width = Math.max(textWidth(words.title, TITLE, 600) + (words.group ? 18 : 0), ...wide, 40) + 2 * EDGE;
    const header = textWidth(words.heading || words.title, TITLE, 600) + 30;
    return { ...words, header, size: [Math.ceil(width), 2 * 7 + ROW + 2 + words.lines.length * ROW] };
  }

  node(node) {
    const { graph, backward } = this.tree;
    const { columns } = graph;
    const lines = [];
    const roles = new Set();
    if (columns.function[node]) roles.add("CUSTOM");
    else if (backward.roots.includes(node)) roles.add("ROOT");
    else if (columns.accumulates[node]) roles.add("ACCUMULATE");
    else roles.add(columns.view[node] ? "VIEW" : "PLAIN");
    if (columns.leaf[node]) lines.push({ text: cut(graph.leaf(node)) });
    const types = graph.inputs(node).filter(Boolean);
    if (types.length) lines.push({ text: cut(types[0]) + (types.length > 1 ? ` +${types.length - 1}` : "") });
    const keeps = graph.savedBytes([node]);
    if (keeps) lines.push({ text: `saves ${bytes(keeps)}`, role: "SAVED" });
    if (columns.levels[node]) lines.push({ text: cut(graph.book.strings[columns.levels[node]]), role: "LEVEL" });
    const hooks = backward.hooksAt(node).length;
    if (hooks) lines.push({ text: amount(hooks, "hook"), role: "HOOKED" });
    for (const line of this.heldLines(node)) lines.push(line);
    for (const chip of this.tree.chipsOf(node)) lines.push({ text: cut(`${graph.leaf(chip) || "parameter"}  shared by ${this.tree.users(chip)}`), role: "ACCUMULATE", node: chip });
    for (const finding of backward.findingsAt.get(node) || []) {
      lines.push({ text: `⚠ ${finding.code} ${finding.name}`, role: "FINDING" });
    }
    if (backward.captured.includes(node)) lines.push({ text: "only its gradient is taken" });
    else if (backward.position[node] < 0) {
      roles.add("IDLE");
      lines.push({ text: "did not run" });
    }
    for (const line of lines) if (BORDERS.has(line.role)) roles.add(line.role);
    return { title: cut(graph.name(node)), lines, roles, group: false };
  }

  // Parameters that the node leads to, a line each, and the changes of shape on the way.
  heldLines(node) {
    const { graph } = this.tree;
    const held = this.tree.rowsOf(node);
    const lines = [];
    const views = held.filter((one) => !graph.columns.accumulates[one]);
    if (views.length) {
      const names = [...grouped(views.map((one) => graph.name(one).replace(/Backward\d*$/, "")), (name) => name)];
      lines.push({ text: cut(`via ${names.map(([name, all]) => name + (all.length > 1 ? ` ×${all.length}` : "")).join(", ")}`), node: views[0], nodes: views });
    }
    const path = graph.columns.call[node] ? graph.book.call(graph.columns.call[node]).path : "";
    for (const one of held.filter((other) => graph.columns.accumulates[other] && !this.tree.chips.has(other))) {
      const leaf = graph.leaf(one);
      const own = path && leaf.startsWith(`${path}.`) ? leaf.slice(path.length + 1) : leaf;
      lines.push({ text: cut(`→ ${own}  ${graph.inputs(one)[0] || ""}`), role: "ACCUMULATE", node: one, row: true });
    }
    return lines;
  }

  group(group) {
    const { tree } = this;
    const nodes = tree.inside(group);
    const kind = tree.rows[group][3];
    const name = tree.groupName(group);
    const words = tree.groupClass(group);
    const lines = [];
    const parameters = nodes.reduce((sum, node) => sum + tree.graph.columns.accumulates[node], 0);
    const counts = [amount(nodes.length, "node"), parameters ? amount(parameters, "param") : ""].filter(Boolean).join(" · ");
    const about = words ? `${words} · ${counts}` : counts;
    for (const text of about.length > LONGEST ? [cut(words), counts] : [about]) lines.push({ text });  // a number is never cut
    const keeps = tree.graph.savedBytes(nodes);
    if (keeps) lines.push({ text: `saves ${bytes(keeps)}`, role: "SAVED" });
    const { backward } = tree;
    const hooks = backward.registered.size ? nodes.reduce((sum, node) => sum + backward.hooksAt(node).length, 0) : 0;
    if (hooks) lines.push({ text: amount(hooks, "hook"), role: "HOOKED" });
    const functions = Array.from(nodes).filter((node) => tree.graph.columns.function[node]);
    const custom = grouped(functions, (node) => tree.graph.name(node).replace(/Backward$/, ""));
    if (custom.size) lines.push({ text: cut(`${[...custom].map(([one, all]) => `${all.length}× ${one}`).join(", ")} (custom)`), role: "CUSTOM" });
    const roles = new Set([kind === REPEAT ? "FOLDED" : "GROUP"]);
    const findings = backward.findings.filter((one) => nodes.includes(one.node));
    if (findings.length) lines.push({ text: `⚠ ${findings.map((one) => one.code).join(" ")}`, role: "FINDING" });
    if (!nodes.some((node) => backward.position[node] >= 0)) roles.add("IDLE");
    for (const line of lines) if (BORDERS.has(line.role)) roles.add(line.role);
    const heading = words ? `${cut(name)}  ${cut(words)}` : cut(name);
    return { title: cut(name), heading, lines, roles, group: true };
  }
}

// How roles look together: of each property, that of the last role in the tables that has one.
class Looks {
  constructor(data, name) {
    this.name = name;
    this.theme = data.themes[name];
    this.marks = data.marks;
    this.known = new Map();
  }

  of(roles) {
    const key = roles.key || (roles.key = [...roles].join());
    if (!this.known.has(key)) this.known.set(key, this.mixed(roles));
    return this.known.get(key);
  }

  mixed(roles) {
    const look = { shape: "box", line: "solid", width: 1 };
    for (const [role, fill, border] of this.theme.looks) {
      if (role !== "PLAIN" && !roles.has(role)) continue;
      look.fill = fill || look.fill;
      look.border = border || look.border;
    }
    for (const [role, shape, line, width] of this.marks) {
      if (roles.has(role)) Object.assign(look, shape && { shape }, line && { line }, width && { width });
    }
    return look;
  }

  strip(role) {
    const found = this.theme.looks.find(([name]) => name === role);
    return found ? found[3] : null;
  }
}

const DASHES = { solid: [], dashed: [6, 4], dotted: [2, 3] };

function rounded(x, y, w, h, r) {
  return `M${x + r} ${y}h${w - 2 * r}a${r} ${r} 0 0 1 ${r} ${r}v${h - 2 * r}a${r} ${r} 0 0 1 ${-r} ${r}h${2 * r - w}a${r} ${r} 0 0 1 ${-r} ${-r}v${2 * r - h}a${r} ${r} 0 0 1 ${r} ${-r}z`;
}

const SHAPES = {
  box: (x, y, w, h) => rounded(x, y, w, h, 4),
  round: (x, y, w, h) => rounded(x, y, w, h, Math.min(14, h / 2)),
  hexagon: (x, y, w, h) => {
    const point = Math.min(8, h / 2);
    return `M${x - point} ${y + h / 2}L${x} ${y}h${w}L${x + w + point} ${y + h / 2}L${x + w} ${y + h}h${-w}z`;
  },
  folder: (x, y, w, h) => {
    const slope = Math.min(4, w / 8);
    return `${rounded(x, y, w, h, 4)}M${x + 1.5 * slope} ${y}l${slope} -5h${Math.min(44, w / 3)}l${slope} 5z`;
  },
  double: (x, y, w, h) => `${rounded(x - 3, y - 3, w + 6, h + 6, 6)}${rounded(x, y, w, h, 4)}`,
};

class CanvasPen {
  constructor(context) {
    this.context = context;
  }

  shape(thing, { fill, stroke, width = 1, dash = "solid" }) {
    const { context } = this;
    thing.path ||= new Path2D(thing.line);
    if (fill) {
      context.fillStyle = fill;
      context.fill(thing.path);
    }
    if (stroke) {
      context.strokeStyle = stroke;
      context.lineWidth = width;
      context.setLineDash(DASHES[dash]);
      context.stroke(thing.path);
    }
  }

  text(text, x, y, { size, color, weight = 400, anchor = "start" }) {
    const { context } = this;
    context.font = `${weight} ${size}px ${SANS}`;
    context.fillStyle = color;
    context.textAlign = anchor === "middle" ? "center" : anchor;
    context.fillText(text, x, y);
  }
}

class SvgPen {
  constructor(parent) {
    this.parent = parent;
  }

  add(name, attributes, text = "") {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    this.parent.append(element);
    return element;
  }

  shape(thing, { fill, stroke, width = 1, dash = "solid" }) {
    const line = { d: thing.line, fill: fill || "none", stroke: stroke || "none", "stroke-width": width };
    this.add("path", dash === "solid" ? line : { ...line, "stroke-dasharray": DASHES[dash].join(" ") });
  }

  text(text, x, y, { size, color, weight = 400, anchor = "start" }) {
    this.add("text", { x, y, fill: color, "font-size": size, "font-weight": weight, "text-anchor": anchor }, text);
  }
}

// Draws what lies in the view. `eye`: scale, the part of the sheet that shows, selected, found, play.
function paint(pen, { layout, describe, looks, eye }) {
  const { theme } = looks;
  const [left, top, right, bottom] = eye.part;
  const seen = (x0, y0, x1, y1) => x0 <= right && x1 >= left && y0 <= bottom && y1 >= top;
  const boxes = [...layout.boxes.values()].filter((box) => seen(box.x - 12, box.y - 8, box.x + box.w + 12, box.y + box.h + 8));
  for (const box of boxes) if (box.open) paintFrame(pen, box, describe(box.item), looks, eye);
  if (pen.context && boxes.length > MANY && !readable(2 * TITLE, eye)) return paintCrowd(pen.context, boxes, { layout, describe, looks, eye, seen });
  const near = [];
  for (const edge of layout.edges) {
    if (!seen(...edge.box)) continue;
    if (eye.isNear(edge)) near.push(edge);
    else paintEdge(pen, edge, eye.way ? theme.frame_border : theme.arrow, 1, theme, eye);
  }
  for (const edge of near) paintEdge(pen, edge, accent(looks), 2.5, theme, eye);
  for (const box of boxes) {
    if (box.open) paintHeading(pen, box, describe(box.item), theme, eye);
    else paintBox(pen, box, describe(box.item), looks, eye);
  }
}

// Thousands of boxes from afar: a spot of colour each and straight arrows, all of a colour at once.
function paintCrowd(context, boxes, { layout, describe, looks, eye, seen }) {
  const { theme } = looks;
  const least = 1.5 / eye.scale;
  context.lineWidth = 0.7 / eye.scale;
  context.setLineDash([]);
  for (const [near, color] of [[false, eye.way ? theme.frame_border : theme.arrow], [true, accent(looks)]]) {
    context.strokeStyle = color;
    context.beginPath();
    for (const edge of layout.edges) {
      if (eye.isNear(edge) !== near || !seen(...edge.box)) continue;
      const [tail, head] = [layout.boxes.get(edge.tail), layout.boxes.get(edge.head)];
      if (head.y - tail.y - tail.h < least && Math.abs(head.x - tail.x) < least) continue;
      context.moveTo(tail.x + tail.w / 2, tail.y + tail.h);
      context.lineTo(head.x + head.w / 2, head.y);
    }
    context.stroke();
  }
  const spots = grouped(boxes.filter((box) => !box.open), (box) => spot(box, describe, looks, eye));
  for (const [color, found] of spots) {
    context.fillStyle = color;
    for (const box of found) context.fillRect(box.x, box.y, Math.max(box.w, least), Math.max(box.h, least));
  }
}

function spot(box, describe, looks, eye) {
  const play = eye.play ? eye.play(box.item) : null;
  if (eye.selected === box.item || eye.found.has(box.item) || (play && play.state === "now")) return accent(looks);
  if ((eye.way && !eye.way.has(box.item)) || (play && play.state === "later")) return looks.theme.frame_border;
  return (eye.measure && eye.measure.color(box.item, looks.name)) || looks.of(describe(box.item).roles).border;
}

const accent = (looks) => looks.theme.looks.find(([role]) => role === "FOCUS")[2];
const SMALLEST = 5, SHORTEST = 6;  // pixels of letters that can be read; letters of a name that say something
const readable = (size, eye) => size * eye.scale >= SMALLEST - 1e-6;
const thick = (width, eye) => Math.max(width, 0.7 / eye.scale);  // lines stay visible from afar

function paintFrame(pen, box, words, looks, eye) {
  const { theme } = looks;
  box.frame ||= { line: rounded(box.x, box.y, box.w, box.h, 6) };
  const chosen = eye.selected === box.item;
  pen.shape(box.frame, { fill: theme.frame, stroke: chosen ? accent(looks) : theme.frame_border, width: thick(chosen ? 2.5 : 1, eye) });
}

// Over the arrows, on paper of its own; larger from afar, as far as the frame allows.
function paintHeading(pen, box, words, theme, eye) {
  const room = box.w - 16;
  const width = (text) => textWidth(`▾ ${text}`, TITLE, 600);
  const text = width(words.heading) <= room ? words.heading : words.title;
  const size = Math.min(Math.max(TITLE, 9 / eye.scale), SPACE.head - 8, (TITLE * room) / width(text));
  if (!readable(size, eye)) return;
  pen.shape({ line: `M${box.x + 5} ${box.y + 2}h${(width(text) * size) / TITLE + 6}v${size + 5}H${box.x + 5}z` }, { fill: theme.frame });
  pen.text(`▾ ${text}`, box.x + 8, box.y + size + 3, { size, color: theme.quiet, weight: 600 });
}

function paintEdge(pen, edge, color, width, theme, eye) {
  pen.shape(edge, { stroke: color, width: thick(width, eye), dash: edge.back ? "dashed" : "solid" });
  edge.tip ||= { line: tip(edge) };
  pen.shape(edge.tip, { fill: color });
  const norm = eye.way && eye.way.norm(edge);
  if (norm && readable(NOTE, eye)) {
    pen.text(Number(norm.toPrecision(2)).toString(), edge.middle[0] + 5, edge.middle[1] + 4, { size: NOTE, color: theme.ink, weight: 600 });
  } else if (edge.count > 1 && readable(NOTE, eye)) {
    pen.text(`×${edge.count}`, edge.middle[0] + 5, edge.middle[1] + 4, { size: NOTE, color: theme.quiet });
  }
}

function tip(edge) {
  const [x, y] = edge.line.match(/[-\d.]+ [-\d.]+$/)[0].split(" ").map(Number);
  return `M${x} ${y}l-4 -7h8z`;
}

function paintBox(pen, box, words, looks, eye) {
  const { theme } = looks;
  const look = looks.of(words.roles);
  const chosen = eye.selected === box.item;
  const play = eye.play ? eye.play(box.item) : null;
  box.outline ||= { line: SHAPES[look.shape](box.x, box.y, box.w, box.h) };
  const dim = eye.way && !eye.way.has(box.item);
  const heat = eye.measure && eye.measure.color(box.item, looks.name);
  const fill = dim ? theme.paper : heat || (eye.measure || (play && play.state === "later") ? theme.paper : look.fill);
  pen.shape(box.outline, { fill, stroke: dim ? theme.frame_border : look.border, width: thick(look.width, eye), dash: look.line });
  if (chosen || (play && play.state === "now") || eye.found.has(box.item)) {
    box.halo ||= { line: rounded(box.x - 5, box.y - 5, box.w + 10, box.h + 10, 8) };
    pen.shape(box.halo, { stroke: accent(looks), width: chosen ? 3 : 2, dash: eye.found.has(box.item) && !chosen ? "dashed" : "solid" });
  }
  if (play) paintProgress(pen, box, play, looks, eye);
  if (!readable(NOTE, eye)) return paintFar(pen, box, words, heat && !dim ? { ...theme, ink: inkOn(heat) } : theme, eye);
  paintWords(pen, box, words, looks, eye, heat && !dim ? inkOn(heat) : null);
}

// Far away only the title shows, as large as the box allows.
function paintFar(pen, box, words, theme, eye) {
  const whole = words.title.replace(/Backward\d*$/, "").split(": ")[0];
  const fits = (TITLE * (box.w - 8)) / textWidth(whole, TITLE, 600);
  const most = Math.floor((whole.length * fits * eye.scale) / SMALLEST);
  const title = readable(fits, eye) || most < SHORTEST ? whole : cut(whole, most);
  const size = Math.min(11 / eye.scale, title === whole ? fits : SMALLEST / eye.scale, box.h * 0.7);
  if (readable(size, eye)) pen.text(title, box.x + box.w / 2, box.y + box.h / 2 + size / 3, { size, color: theme.ink, weight: 600, anchor: "middle" });
}

function paintWords(pen, box, words, looks, eye, ink = null) {
  const { theme } = looks;
  const title = words.group ? `▸ ${words.title}` : words.title;
  let y = box.y + 7 + TITLE;
  pen.text(title, box.x + EDGE, y, { size: TITLE, color: ink || theme.ink, weight: 600 });
  for (const line of words.lines) {
    y += ROW;
    const strip = line.role && looks.strip(line.role);
    if (strip) pen.shape({ line: rounded(box.x + 5, y - 11, box.w - 10, ROW - 2, 3) }, { fill: strip });
    if ((line.nodes || [line.node]).includes(eye.row)) {
      pen.shape({ line: rounded(box.x + 3, y - 12, box.w - 6, ROW, 3) }, { stroke: accent(looks), width: 2 });
    }
    pen.text(line.text, box.x + EDGE, y + 1, { size: NOTE, color: strip ? theme.ink : ink || theme.quiet });
  }
}

// The player's mark: done, running now, its turn in the queue; of a group, the part that is done.
function paintProgress(pen, box, play, looks, eye) {
  const { theme } = looks;
  const color = accent(looks);
  if (play.part > 0 && play.part < 1) {
    pen.shape({ line: `M${box.x} ${box.y + box.h - 3}h${box.w * play.part}v3h${-box.w * play.part}z` }, { fill: color });
  }
  const words = play.state === "done" ? "✓" : play.state === "now" ? "▶" : play.turn ? `next ${play.turn}` : "";
  if (words && readable(NOTE, eye)) {
    pen.text(words, box.x + box.w, box.y - 7, { size: NOTE, color: play.state === "done" ? theme.quiet : color, weight: 600, anchor: "end" });
  }
}
