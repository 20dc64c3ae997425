// The panel about one node or one group.

function details(app) {
  const item = app.followed ?? app.selected;
  if (item === null) {
    return [quiet("Choose a box: its line of code, saved tensors, hooks and gradients stand here."), about(app)];
  }
  return app.tree.isGroup(item) ? groupDetails(app, item - app.tree.size) : nodeDetails(app, item);
}

function about(app) {
  const { book, backward, graph } = app;
  const frames = book.stack(backward.stack).filter((frame) => frame.origin === "user");
  return make("div", {},
    heading(`Backward ${backward.number}`),
    facts([
      ["call", `${backward.kind}(${[backward.create && "create_graph", backward.keep && !backward.create && "retain_graph"].filter(Boolean).join(", ")})`],
      ["took", backward.duration === null ? "" : duration(backward.duration)],
      ["raised", backward.exception],
      ["stopped in", backward.stopped === null ? "" : nodeButton(app, backward.stopped)],
      ["nodes", `${thousands(graph.size)}, of which ${thousands(backward.order.length)} ran`],
      ["order", backward.measured ? "measured" : "predicted"],
      ["starts at", backward.roots.length ? backward.roots.map((node) => nodeButton(app, node)) : ""],
      ["inputs", backward.inputs ? backward.inputs.map((node) => nodeButton(app, node)) : ""],
      ["inside it", backward.inner.length ? `backward ${backward.inner.join(", ")}` : ""],
      ["inside of", backward.nested === null ? "" : `backward ${backward.nested}`],
      ["memory", backward.peak ? `at most ${backward.peak} (estimated)` : ""],
    ]),
    frames.length ? [heading("Called at"), source(app, frames[0])] : null);
}

function nodeDetails(app, node) {
  const { graph, backward, book, tree } = app;
  const { columns } = graph;
  const place = backward.position[node];
  const took = backward.seconds(node);
  return [
    make("h2", {}, graph.name(node)),
    make("p", {}, button("Copy as text", () => app.copy(), { class: "small" }), " ", button("Copy link", () => app.copyLink(), { class: "small" })),
    ...findingsHere(app, node),
    facts([
      ["place", place < 0 ? (node === backward.stopped ? "the backward raised before it ran" : backward.captured.includes(node) ? "did not run: only its gradient is taken" : "did not run") : `#${place} of ${backward.order.length} (${backward.measured ? "measured" : "predicted"})`],
      ["parameter", graph.leaf(node)],
      ["module", moduleWords(book, columns.call[node])],
      ["group", tree.path(node)],
      ["operator", book.strings[columns.op[node]]],
      ["sequence number", graph.seq[node] < 0 ? "none: runs as soon as it is ready" : graph.seq[node]],
      ["id", node],
      ["gradient in", graph.inputs(node).filter(Boolean).join("; ")],
      ["torch.func", book.strings[columns.levels[node]]],
      ["thread", columns.thread[node] || ""],
      ["device", book.strings[columns.device[node]]],
      ["took", took === null ? "" : duration(took)],
    ]),
    ...functionDetails(app, node),
    ...savedDetails(app, node),
    ...gradientDetails(app, node),
    ...ranDetails(app, node),
    ...hookDetails(app, node),
    ...edgeDetails(app, node),
    ...stackDetails(app, node),
  ];
}

function moduleWords(book, number) {
  if (!number) return "";
  const call = book.call(number);
  return call.kind && call.kind !== call.label ? `${call.label} (${call.kind})` : call.label;
}

function findingsHere(app, node) {
  return (app.backward.findingsAt.get(node) || []).map((finding) =>
    make("p", { class: `finding ${finding.severity}` }, make("b", {}, `⚠ ${finding.severity} ${finding.code} ${finding.name}: `), finding.message));
}

function functionDetails(app, node) {
  const number = app.graph.columns.function[node];
  if (!number) return [];
  const [name, kind, backward] = app.book.data.functions[number];
  const lines = [kind, backward].map((frame) => app.book.frame(frame)).filter(Boolean).map((frame) => source(app, frame, 0));
  return [heading(`Custom Function ${app.book.strings[name]}`), ...lines];
}

const keptWords = ({ bytes: size, owner, given }) => bytes(size) + (owner ? ` of ${owner}` : given ? ", an input" : "");

function savedDetails(app, node) {
  const saved = app.graph.saved(node);
  if (!saved.length) return [];
  const rows = saved.map((one) => ({ cells: [one.name, one.type, keptWords(one)] }));
  return [heading("Saved tensors"), table([{ name: "name" }, { name: "type" }, { name: "memory", number: true }], rows, { label: "saved tensors" })];
}

const shown = (value) => (typeof value === "number" ? Number(value.toPrecision(4)).toString() : value ?? "–");

function gradientDetails(app, node) {
  const flows = app.backward.flows.get(node);
  if (!flows) return [];
  const rows = flows.map((flow) => ({ cells: [`${flow.out ? "out" : "in"} ${flow.index}`, shown(flow.norm), shown(flow.max), flow.norm === null ? "–" : `${Math.round(flow.zeros * 100)} %`, flow.nan + flow.inf] }));
  const heads = [{ name: "gradient" }, { name: "norm", number: true }, { name: "max", number: true }, { name: "zeros", number: true }, { name: "NaN, Inf", number: true }];
  return [heading("Gradients"), table(heads, rows, { label: "gradients" })];
}

function ranDetails(app, node) {
  const ran = app.backward.ran(node);
  return ran.length ? [heading("Ran in the backward"), make("ul", { class: "plain" }, ran.map((name) => make("li", {}, name)))] : [];
}

function hookDetails(app, node) {
  const fired = app.backward.firedAt.get(node) || [];
  const numbers = new Set(fired.map((firing) => firing.hook));
  const silent = app.backward.silent.filter(([hook, where]) => where === node && !numbers.has(hook));
  if (!fired.length && !silent.length) return [];
  const items = [
    ...fired.map((firing) => hookItem(app, app.book.hook(firing.hook), firingWords(firing))),
    ...silent.map(([hook, , why]) => hookItem(app, app.book.hook(hook), `did not fire: ${app.book.strings[why]}`)),
  ];
  return [heading("Hooks, in firing order"), make("ol", {}, items)];
}

function firingWords(firing) {
  const norms = firing.before === null ? "" : `, norm ${shown(firing.before)}${firing.after === null ? "" : ` → ${shown(firing.after)}`}`;
  const took = firing.seconds === null ? "" : `, ${duration(firing.seconds)}`;
  return `${firing.change}${norms}${took}${firing.byRule ? ", place by rule" : ""}`;
}

function hookItem(app, hook, words) {
  const frame = app.book.stack(hook.stack).find((one) => one.origin === "user");
  return make("li", {}, make("b", {}, hook.name), ` ${hook.kind} on ${hook.on}`, make("br"), make("span", { class: "quiet" }, words), frame ? source(app, frame, 0) : null);
}

function edgeDetails(app, node) {
  const { graph } = app;
  const list = (edges, end, words) => edges.length
    ? [heading(words), make("ul", { class: "plain" }, Array.from(edges.slice(0, 60), (edge) => make("li", {}, nodeButton(app, end[edge])))),
      edges.length > 60 ? quiet(`and ${edges.length - 60} more`) : null]
    : [];
  return [
    ...list(graph.incoming.of(node), graph.source, "Gradient comes from"),
    ...list(graph.outgoing.of(node), graph.target, "Gradient goes to"),
  ];
}

function stackDetails(app, node) {
  const found = [];
  const frames = app.graph.stack(node);
  if (frames.length) found.push(heading("Made at"), ...frameList(app, frames));
  const parent = app.graph.parents.get(node);
  if (parent) {
    const [id, name, stack] = parent;
    found.push(heading("Made while this ran"), id >= 0 ? nodeButton(app, id) : make("p", {}, app.book.strings[name]), ...frameList(app, app.book.stack(stack)));
  }
  return found;
}

// The user's frames with their lines, innermost first; those of libraries and of torch on demand.
function frameList(app, frames) {
  const own = frames.filter((frame) => frame.origin === "user");
  const others = frames.length - own.length;
  const every = make("details", {}, make("summary", {}, `all ${frames.length} frames`), make("ol", { class: "plain" },
    frames.map((frame) => make("li", { class: frame.origin }, make("span", { class: "file" }, `${app.book.strings[frame.file]}:${frame.line}`), ` ${frame.function}`))));
  return [...own.map((frame, at) => source(app, frame, at ? 0 : 2)), others ? every : null].filter(Boolean);
}

function groupDetails(app, group) {
  const { tree, graph, backward } = app;
  const nodes = tree.inside(group);
  const places = Array.from(nodes, (node) => backward.position[node]).filter((place) => place >= 0);
  const took = backward.times.length ? places.reduce((sum, place) => sum + backward.times[place], 0) / 1e6 : null;
  const lines = app.describe(tree.size + group);
  return [
    make("h2", {}, tree.groupName(group)),
    make("p", {}, button(tree.open[group] ? "Close" : "Open", () => app.toggle(tree.size + group), { class: "small" })),
    facts([
      ["class", tree.groupClass(group)],
      ["inside of", tree.path(tree.size + group)],
      ["nodes", thousands(nodes.length)],
      ["places", places.length ? `#${places.reduce((a, b) => Math.min(a, b))} to #${places.reduce((a, b) => Math.max(a, b))}` : "did not run"],
      ["saves", bytes(graph.savedBytes(nodes))],
      ["hooks", lines.lines.filter((line) => line.role === "HOOKED").map((line) => line.text).join("")],
      ["took", took === null ? "" : duration(took)],
    ]),
    heading("Holds"),
    inPieces(tree.children[group], (items) => make("ul", { class: "plain" }, items.map((item) => make("li", {}, itemButton(app, item))))),
  ];
}

function itemButton(app, item) {
  if (!app.tree.isGroup(item)) return nodeButton(app, item);
  const group = item - app.tree.size;
  return button(`▸ ${app.tree.groupName(group)}  ${app.tree.groupClass(group)}`, () => app.select(item), { class: "link" });
}

// A node in words, for a mail or an issue.
function nodeText(app, node) {
  const { graph, backward, book } = app;
  const lines = [`${graph.name(node)}  (${app.caption()})`];
  const add = (name, value) => value !== "" && value !== null && lines.push(`  ${name}: ${value}`);
  add("place", backward.position[node] < 0 ? "did not run" : `#${backward.position[node]} of ${backward.order.length}`);
  add("parameter", graph.leaf(node));
  add("module", moduleWords(book, graph.columns.call[node]));
  add("operator", book.strings[graph.columns.op[node]]);
  add("gradient in", graph.inputs(node).filter(Boolean).join("; "));
  for (const one of graph.saved(node)) add("saves", `${one.name} ${one.type} ${keptWords(one)}`);
  for (const flow of backward.flows.get(node) || []) add(`gradient ${flow.out ? "out" : "in"} ${flow.index}`, `norm ${shown(flow.norm)}, max ${shown(flow.max)}, NaN or Inf ${flow.nan + flow.inf}`);
  for (const name of backward.ran(node)) add("ran", name);
  for (const firing of backward.firedAt.get(node) || []) add("hook", `${book.hook(firing.hook).name} (${book.hook(firing.hook).kind}): ${firingWords(firing)}`);
  for (const finding of backward.findingsAt.get(node) || []) add(finding.code, finding.message);
  for (const frame of graph.stack(node).filter((one) => one.origin === "user")) add("at", `${book.place(frame)} in ${frame.function}  ${(book.line(frame) || "").trim()}`);
  return `${lines.join("\n")}\n`;
}
