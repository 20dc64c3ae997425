// The page: which backward, what is open, what is chosen, and what each key does.

const FEW_BOXES = 26;
const LINK_EVERY = 100;  // milliseconds
const TABS = { node: ["Node", details], outline: ["Outline", outline], findings: ["Findings", findings], hooks: ["Hooks", hookTimeline],
  gradients: ["Gradients", gradients], memory: ["Memory", memory], compare: ["Compare", compare] };
const KEYS = [
  ["/", "search", () => byId("search").focus()],
  ["+", "nearer", (app) => app.stage.zoom(1.25)],
  ["-", "farther", (app) => app.stage.zoom(0.8)],
  ["f", "fit everything into the window", (app) => app.stage.fit()],
  ["0", "back to the top", (app) => app.stage.begin()],
  ["e", "open one level more", (app) => app.change(() => app.tree.expand(!app.tree.level().length))],
  ["c", "close all groups", (app) => app.change(() => app.tree.collapse())],
  ["p", "play or pause", (app) => app.player.toggle()],
  ["]", "one step on", (app) => app.player.step(1)],
  ["[", "one step back", (app) => app.player.step(-1)],
  ["n", "the next node in backward order", (app) => app.inOrder(1)],
  ["b", "the one before", (app) => app.inOrder(-1)],
  ["w", "the way from the loss to what is chosen; again: off", (app) => app.showWay(null, app.selected)],
  ["x", "close or open the panel", (app) => app.closePanel()],
  ["v", "changes of shape as boxes of their own", (app) => app.flip("views")],
  ["a", "parameters as boxes of their own", (app) => app.flip("parameters")],
  ["y", "copy the chosen node as text", (app) => app.copy()],
  ["s", "save the picture as SVG", (app) => app.saveSvg()],
  ["d", "dark or light", (app) => app.setTheme(app.themeName === "dark" ? "light" : "dark")],
  ["?", "this list", () => byId("help").showModal()],
];
const BUTTONS = { f: "Fit", "+": "+", "-": "−", e: "Open level", c: "Close all", v: "Shapes", a: "Parameters", s: "SVG", d: "Dark", w: "Way", x: "Panel", "?": "Keys" };

class App {
  constructor(book) {
    this.book = book;
    this.selected = null;
    this.found = new Set();
    this.marked = [];
    this.tab = "node";
    this.looks = new Looks(book.data, "light");
    this.stage = new Stage(byId("graph"), this);
    this.card = new Card(this, byId("stage"));
    this.overview = new Overview(this, byId("stage"));
    this.measure = this.way = this.followed = null;
    this.player = new Player(this);
    this.timeline = new Timeline(this, byId("timeline"));
    this.steps = new RunSteps(this, byId("steps"));
    this.search = new Search(this);
    this.furnish();
    const dark = matchMedia("(prefers-color-scheme: dark)");
    this.setTheme(book.data.theme || (dark.matches ? "dark" : "light"));
    this.read(true);
    if (book.data.color) this.colorBy(book.data.color);
    for (const moved of ["hashchange", "popstate"]) addEventListener(moved, () => this.read(false));
    document.addEventListener("keydown", (event) => this.key(event));
    if (!book.data.theme) dark.addEventListener("change", (event) => this.setTheme(event.matches ? "dark" : "light"));
  }

  // The parts that do not change with the backward.
  furnish() {
    const { data } = this.book;
    byId("name").textContent = data.program;
    byId("backward").append(...data.backwards.map((row, place) => make("option", { value: place }, `backward ${row.number}${row.exception ? " (raised)" : ""}`)));
    byId("backward").addEventListener("change", (event) => this.open(Number(event.target.value)));
    if (data.left_out) byId("backward").title = `${amount(data.left_out, "backward call")} more in the recording are not in this page`;
    byId("tools").append(...KEYS.filter(([key]) => BUTTONS[key]).map(([key, words, act]) =>
      button(BUTTONS[key], () => act(this), { title: `${words} (${key})`, "aria-label": spoken(BUTTONS[key], words), "aria-keyshortcuts": key, id: `tool-${key}` })));
    byId("color").append(...data.quantities.map(([name, words]) => make("option", { value: name }, `colour: ${words}`)));
    byId("color").addEventListener("change", (event) => this.colorBy(event.target.value));
    const count = data.findings.length;
    byId("tabs").append(...Object.entries(TABS).map(([name, [words]]) =>
      button(name === "findings" && count ? `${words} (${count})` : words, () => this.showTab(name), { role: "tab", id: `tab-${name}`, "aria-controls": "panel" })));
    byId("tabs").addEventListener("keydown", (event) => this.turnTab(event));
    byId("keys").append(...[...KEYS, ["arrow keys", "from box to box"], ["Enter", "open or close a group"], ["Escape", "choose nothing"], ["Shift and click", "all ways between two boxes"], ["Alt and left, right", "back and forward"]].map(([key, words]) =>
      make("div", {}, make("dt", {}, make("kbd", {}, key)), make("dd", {}, words))));
    byId("skip").addEventListener("click", (event) => {
      event.preventDefault();
      this.showTab("outline");
      byId("panel").querySelector("[role=treeitem]")?.focus();
    });
    byId("close").addEventListener("click", () => byId("help").close());
    byId("made").textContent = `gradscope ${data.gradscope}, torch ${data.torch}, from ${data.recording}`;
  }

  // A backward call, by its place in the page; what is open stays open where the graph is the same.
  open(place) {
    const before = this.tree;
    this.place = place;
    this.backward = this.book.backward(place);
    this.graph = this.backward.shape;
    this.way = null;
    this.tree = new Tree(this.backward);
    if (before) Object.assign(this.tree.folds, before.folds);
    if (before) this.tree.fold();
    if (before && before.graph === this.graph) this.tree.open.set(before.open);
    else {
      this.tree.fit(FEW_BOXES);
      this.selected = null;
      this.marked = [];
    }
    this.describe = new Describer(this.tree).of;
    this.pressFolds();
    byId("backward").value = place;
    document.title = this.caption();
    const saved = this.graph.savedBytes(this.tree.inside(0));
    byId("caption").textContent = [amount(this.graph.size, "node"), amount(this.graph.source.length, "edge"), saved ? `saves ${bytes(saved)}` : "", this.backward.exception ? `raised ${cut(this.backward.exception.split("\n")[0], 110)}` : ""].filter(Boolean).join(" · ");
    if (this.measure) this.measure = new Measure(this, this.measure.name);
    this.arrange();
    this.player.reset();
    this.timeline.draw();
    this.steps.draw();
    if (!before || before.graph !== this.graph) this.stage.begin();
    this.showTab(this.tab);
    this.link();
  }

  caption() {
    return `${this.book.data.program}, backward ${this.backward.number}`;
  }

  arrange() {
    this.layout = layOut(this.tree, this.describe);
    this.found = new Set(this.marked.map((item) => this.tree.shown(item)));
    if (this.way) this.way.place();
    if (this.measure) this.measure.scale(this.layout.boxes.values());
    this.overview.later();
    this.stage.draw();
    this.legend();
  }

  colorBy(name) {
    this.measure = name ? new Measure(this, name) : null;
    if (this.measure) this.measure.scale(this.layout.boxes.values());
    byId("color").value = name;
    this.legend();
    this.stage.draw();
  }

  // Light up all ways between two items, from the loss where the first is null; the same again puts it out.
  showWay(from, to) {
    const same = this.way && (to === null || (this.way.from === from && this.way.to === to));
    this.way = null;
    if (!same && to !== null) {
      const way = new Way(this, from, to);
      if (way.found) {
        this.way = way;
        way.place();
        this.say(`${amount(way.length, "node")} on the way`);
      } else this.say(from === null ? "no way leads there from the loss" : "no way leads from one to the other");
    }
    byId("tool-w").setAttribute("aria-pressed", String(this.way !== null));
    this.stage.draw();
  }

  // The graph's edges that an arrow stands for.
  edgesOf(arrow) {
    const shown = this.tree.shownNodes();
    const found = [];
    for (let edge = 0; edge < this.graph.source.length; edge++) {
      if (shown[this.graph.source[edge]] === arrow.tail && shown[this.graph.target[edge]] === arrow.head) found.push(edge);
    }
    return found;
  }

  inOrder(by) {
    const { order, position } = this.backward;
    if (!order.length) return;
    const at = this.selected !== null && !this.tree.isGroup(this.selected) ? position[this.selected] : -1;
    this.select(order[Math.min(Math.max(at + by, 0), order.length - 1)]);
  }

  closePanel() {
    const aside = byId("about");
    aside.hidden = !aside.hidden;
    byId("tool-x").setAttribute("aria-pressed", String(!aside.hidden));
    this.stage.resize();
  }

  // Open or close groups, with what is chosen kept where it is on the screen.
  change(act, item = this.selected) {
    const shown = item === null ? null : this.tree.shown(item);
    const before = this.layout.boxes.get(shown);
    act();
    this.arrange();
    const after = this.layout.boxes.get(item === null ? null : this.tree.shown(item));
    if (before && after) {
      this.stage.camera.x += after.x + (after.open ? (after.w - before.w) / 2 : 0) - before.x;
      this.stage.camera.y += after.y - before.y;
    } else this.stage.begin();
    if (this.player.at !== null) this.player.tell();
    if (this.tab === "node") this.showTab("node");
  }

  toggle(item) {
    this.change(() => this.tree.toggle(item - this.tree.size), item);
    this.say(`${this.tree.groupName(item - this.tree.size)} ${this.tree.open[item - this.tree.size] ? "open" : "closed"}`);
  }

  flip(what) {
    this.change(() => {
      this.tree.folds[what] = !this.tree.folds[what];
      this.tree.fold();
      this.describe = new Describer(this.tree).of;
    });
    this.pressFolds();
  }

  pressFolds() {
    byId("tool-v").setAttribute("aria-pressed", String(!this.tree.folds.views));
    byId("tool-a").setAttribute("aria-pressed", String(!this.tree.folds.parameters));
  }

  // Choose a node or group: groups around it open, the box comes into view, the panel tells of it.
  select(item, { move = true, tab = true } = {}) {
    this.selected = item;
    this.followed = null;
    if (item !== null) {
      const group = this.tree.isGroup(item);
      if (this.tree.reveal(item)) this.arrange();
      if (move) this.stage.show(this.tree.shown(item));
      this.say(group ? `${this.tree.groupName(item - this.tree.size)}, ${amount(this.tree.inside(item - this.tree.size).length, "node")}` : [this.graph.name(item), this.graph.leaf(item), this.graph.module(item)].filter(Boolean).join(", "));
    }
    if (tab || this.tab === "node") this.showTab("node");
    this.stage.draw();
    this.link();
  }

  // The node panel and the outline show what the player is at; null: what is chosen.
  follow(node) {
    this.followed = node;
    if (this.tab === "node") byId("panel").replaceChildren(...[details(this)].flat(Infinity).filter(Boolean));
    const tree = this.tab === "outline" && node !== null && byId("panel").querySelector("[role=tree]");
    if (tree) markInOutline(this, tree, node);
  }

  // To a node of any backward call, from a list that stays open.
  go(place, node) {
    if (place !== this.place) this.open(place);
    this.select(node, { tab: false });
  }

  // Mark boxes: what a search found, or what only one of two backwards has.
  setFound(items) {
    this.marked = items.slice(0, 5000);
    this.found = new Set(this.marked.map((item) => this.tree.shown(item)));
    this.stage.draw();
  }

  eye(scale, part) {
    const { tree, player } = this;
    const selected = this.selected === null ? null : tree.shown(this.selected);
    const now = player.at === null ? null : tree.shown(this.backward.order[player.at]);
    return {
      scale, part, selected, found: this.found, row: this.selected ?? NaN, way: this.way, measure: this.measure,
      isNear: (edge) => (this.way && this.way.norm(edge) !== undefined) || (selected !== null && (edge.tail === selected || edge.head === selected)) || (now !== null && edge.tail === now),
      play: player.at === null ? null : (item) => player.mark(item),
    };
  }

  showTab(name) {
    if (this.tab === "compare" && name !== "compare") this.setFound([]);
    this.tab = name;
    for (const tab of byId("tabs").children) {
      const chosen = tab.id === `tab-${name}`;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    const panel = byId("panel");
    panel.setAttribute("aria-labelledby", `tab-${name}`);
    panel.replaceChildren(...[TABS[name][1](this)].flat(Infinity).filter(Boolean));
    panel.scrollTop = 0;
    this.link();
  }

  turnTab(event) {
    const tabs = [...byId("tabs").children];
    const at = tabs.indexOf(document.activeElement);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const tab = tabs[(next + tabs.length) % tabs.length];
    tab.focus();
    tab.click();
  }

  legend() {
    const roles = new Set();
    for (const box of this.layout.boxes.values()) {
      if (box.open) continue;
      const words = this.describe(box.item);
      for (const role of [...words.roles, ...words.lines.map((line) => line.role)]) roles.add(role);
    }
    byId("legend").replaceChildren(...Object.entries(this.book.data.legend).filter(([role]) => roles.has(role)).map(([role, words]) => {
      const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      for (const [key, value] of Object.entries({ viewBox: "0 0 34 20", class: "swatch", "aria-hidden": "true" })) picture.setAttribute(key, value);
      const look = this.looks.of(new Set([role]));
      new SvgPen(picture).shape({ line: SHAPES[look.shape](9, 7, 16, 9) }, { fill: this.looks.strip(role) || look.fill, stroke: look.border, width: look.width, dash: look.line });
      return make("li", {}, picture, words);
    }), make("li", {}, "arrows: gradients go down, in the order of the backward; ×2: two edges in one"),
    ...(this.layout.edges.some((edge) => edge.back) ? [make("li", {}, "dashed arrows: go up, against the layers")] : []),
    ...(this.measure ? [this.measure.legend(this.themeName)] : []));
  }

  setTheme(name) {
    this.themeName = name;
    document.documentElement.dataset.theme = name;
    this.looks = new Looks(this.book.data, name);
    byId("tool-d").textContent = name === "dark" ? "Light" : "Dark";
    if (!this.layout) return;
    this.legend();
    this.overview.draw();
    this.timeline.draw();
    this.steps.draw();
    this.stage.draw();
    if (this.tab === "gradients") this.showTab("gradients");
  }

  // `#node=17&backward=3&step=12&tab=hooks`
  read(first) {
    if (!first && location.hash === this.hash) return;
    const asked = new URLSearchParams(location.hash.slice(1));
    const number = (name) => (/^\d{1,9}$/.test(asked.get(name) || "") ? Number(asked.get(name)) : null);
    const place = number("backward") === null ? this.book.data.chosen : this.book.placeOf(number("backward"));
    if (this.place !== Math.max(place, 0)) this.open(Math.max(place, 0));
    if (place < 0) this.tell(`backward ${number("backward")} is not in this page`);
    const [node, group, step] = [number("node"), number("group"), number("step")];
    if (node !== null && node < this.graph.size) this.select(node);
    else if (node !== null) this.tell(`backward ${this.backward.number} has no node ${node}`);
    else if (group !== null && group > 0 && group < this.tree.rows.length) this.select(this.tree.size + group);
    if (step !== null) this.player.go(step);
    if (node !== null) this.follow(null);  // a link to a node tells of it, wherever the player is
    const tab = asked.get("tab");
    if (tab && Object.hasOwn(TABS, tab)) this.showTab(tab);
    else if (first && node === null && this.book.data.rules.focus !== null) this.select(this.book.data.rules.focus);
    else if (first && node === null && this.book.data.findings.length) this.showTab("findings");
  }

  link() {
    const asked = new URLSearchParams();
    if (this.selected !== null) {
      const group = this.tree.isGroup(this.selected);
      asked.set(group ? "group" : "node", group ? this.selected - this.tree.size : this.selected);
    }
    if (this.place !== this.book.data.chosen) asked.set("backward", this.backward.number);
    if (this.player.at !== null && this.player.at !== undefined) asked.set("step", this.player.at);
    if (this.tab !== "node") asked.set("tab", this.tab);
    this.hash = asked.size ? `#${asked}` : "";
    clearTimeout(this.linking);
    const rest = LINK_EVERY - (performance.now() - (this.linked ?? -LINK_EVERY));
    if (rest <= 0) this.writeLink();
    else this.linking = setTimeout(() => this.writeLink(), rest);  // browsers refuse more than some 20 a second
  }

  writeLink() {
    this.linked = performance.now();
    try {
      const here = this.hash || location.pathname + location.search;
      const stays = location.hash === this.hash || this.player.at !== null || !document.documentElement.dataset.ready;
      history[stays ? "replaceState" : "pushState"](null, "", here);
    } catch {
      // a browser may refuse it for files: the link in the address is then an older one
    }
  }

  copyLink() {
    copy(location.href.split("#")[0] + this.hash);
    this.say("link copied");
  }

  copy() {
    const item = this.followed ?? this.selected;
    if (item === null) return;
    const group = this.tree.isGroup(item);
    copy(group ? `${this.tree.path(item)} › ${this.tree.groupName(item - this.tree.size)}\n` : nodeText(this, item));
    this.say("copied");
  }

  saveSvg() {
    save(`${this.book.data.program.replace(/\W+/g, "-")}-backward-${this.backward.number}.svg`, toSvg(this), "image/svg+xml");
  }

  // Words that everybody sees: what was asked for is not here.
  tell(words) {
    this.say(words);
    byId("caption").textContent = words;
  }

  say(words) {
    byId("said").textContent = words;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
    const typing = event.target.closest("input, select, textarea");
    if (typing) return;
    const onGraph = event.target.id === "graph" || event.target === document.body;
    if (onGraph && event.key.startsWith("Arrow")) {
      event.preventDefault();
      const next = this.stage.next(this.selected === null ? null : this.tree.shown(this.selected), event.key);
      if (next !== undefined && next !== null) this.select(next);
    } else if (event.target.id === "graph" && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      if (this.selected !== null && this.tree.isGroup(this.selected)) this.toggle(this.selected);
    } else if (event.key === "Escape") this.select(null);
    else {
      const found = KEYS.find(([key]) => key === event.key);
      if (!found) return;
      event.preventDefault();
      found[2](this);
    }
  }
}

unpack().then((book) => {
  const app = new App(book);
  // For the browser's console: what is on the sheet, and the verbs of the page.
  globalThis.gradscope = {
    boxes: () => [...app.layout.boxes.values()].map(({ item, x, y, w, h, open }) => ({ item, title: app.describe(item).title, lines: app.describe(item).lines.map((line) => line.text), x, y, w, h, open, marked: app.found.has(item), color: open || !app.measure ? null : app.measure.color(item, app.themeName) })),
    onScreen: (item) => {
      const { camera } = app.stage, box = app.layout.boxes.get(item);
      return box && { x: (box.x - camera.x) * camera.scale, y: (box.y - camera.y) * camera.scale, w: box.w * camera.scale, h: box.h * camera.scale };
    },
    select: (item) => app.select(item),
    toggle: (item) => app.toggle(item),
    groups: () => app.tree.level().map((group) => ({ item: app.tree.size + group, children: app.tree.visible(group).length })),
    paint: () => app.stage.paint(),
    svg: () => toSvg(app),
    colorBy: (name) => app.colorBy(name),
    way: (from, to) => app.showWay(from, to),
    onWay: () => (app.way ? [...app.way.items] : null),
    expand: () => app.change(() => app.tree.expand(true)),
    camera: () => app.stage.camera,
    move: (x, y) => {
      app.stage.camera.x += x;
      app.stage.camera.y += y;
      app.stage.paint();
    },
    fit: () => app.stage.fit(),
    extent: () => ({ width: app.layout.width, height: app.layout.height, wide: app.stage.width, high: app.stage.height }),
    contrasts: () => Object.values(book.data.themes).flatMap(({ ramp: colors }) => Array.from({ length: 101 }, (_, at) => contrast(ramp(colors, at / 100)))),
    book,
  };
  requestAnimationFrame(() => {
    document.documentElement.dataset.ready = "yes";
    performance.mark("ready");
  });
}).catch((error) => {
  byId("caption").textContent = `This page cannot be shown: ${error.message}. It needs a browser of 2023 or newer.`;
  throw error;
});
