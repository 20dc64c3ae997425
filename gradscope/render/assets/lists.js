// The tabs that are lists: findings, hooks, memory.

function findings(app) {
  const all = app.book.data.findings;
  if (!all.length) return [quiet("Nothing was found wrong with this run.")];
  return all.map((finding) => {
    const frame = app.book.frame(finding.frame);
    const place = finding.backward === null ? -1 : app.book.placeOf(finding.backward);
    const go = place >= 0 && finding.node !== null;
    return make("article", { class: `finding ${finding.severity}` },
      button(`⚠ ${finding.severity} ${finding.code} ${finding.name}`, () => go && app.go(place, finding.node), { class: "title", "aria-disabled": String(!go) }),
      make("p", {}, finding.message),
      finding.advice ? make("p", {}, make("b", {}, "fix: "), finding.advice) : null,
      frame ? [make("p", { class: "quiet" }, "line to edit"), source(app, frame)] : null,
      finding.related.map(([role, number, what]) => make("div", {}, make("p", { class: "quiet" }, `${role}: ${what}`), number ? source(app, app.book.frame(number), 1) : null)),
      quiet([finding.certain, ...finding.words, finding.backward === null ? "" : `backward ${finding.backward}`].filter(Boolean).join(" · ")));
  });
}

function hookTimeline(app) {
  const { backward, book } = app;
  const silent = backward.silent;
  if (!backward.firings.length && !silent.length) return [quiet("No hook of this run acts in this backward.")];
  const rows = backward.firings.map((firing, at) => ({ firing, at, hook: book.hook(firing.hook) }));
  const item = ({ firing, hook }) => make("li", {},
    firing.node < 0 ? make("span", { class: "place" }, "–") : nodeButton(app, firing.node),
    " ", make("b", {}, hook.name), ` ${hook.kind} on ${hook.on}`,
    make("div", { class: "quiet" }, firingWords(firing)),
    hookSource(app, hook));
  return [
    heading(`${amount(rows.length, "firing")}, in order`),
    rows.length ? inPieces(rows, (some) => make("ol", { class: "timeline", start: some[0].at + 1 }, some.map(item))) : quiet("No hook fired."),
    silent.length ? heading("Did not fire") : null,
    silent.length ? inPieces(silent, (some) => make("ul", { class: "timeline" }, some.map(([number, node, why]) =>
      make("li", {}, node >= 0 ? [nodeButton(app, node), " "] : null, make("b", {}, book.hook(number).name), ` ${book.hook(number).kind} on ${book.hook(number).on}`,
        make("div", { class: "quiet" }, book.strings[why]), hookSource(app, book.hook(number)))))) : null,
    backward.more_silent ? quiet(`and ${thousands(backward.more_silent)} more`) : null,
  ].filter(Boolean);
}

function hookSource(app, hook) {
  const frame = app.book.stack(hook.stack).find((one) => one.origin === "user");
  return frame ? source(app, frame, 0) : null;
}

// Saved bytes by group, the largest first, opened on demand.
function memory(app) {
  const { tree, graph, backward } = app;
  const [total, given] = [graph.savedBytes(tree.inside(0)), graph.savedBytes(tree.inside(0), true)];
  const row = (item, level) => {
    const nodes = tree.isGroup(item) ? tree.inside(item - tree.size) : [item];
    return { item, level, bytes: graph.savedBytes(nodes) };
  };
  const under = (group, level) => tree.children[group].map((item) => row(item, level)).filter((one) => one.bytes).sort((one, other) => other.bytes - one.bytes);
  const draw = ({ item, level, bytes: size }) => {
    const name = tree.isGroup(item) ? tree.groupName(item - tree.size) : graph.name(item);
    const bar = make("meter", { min: 0, max: total || 1, value: size, "aria-label": `${name} saves ${bytes(size)}` });
    const inner = make("div", { hidden: true });
    const open = tree.isGroup(item) ? button("▸", () => {
      if (!inner.firstChild) inner.append(...under(item - tree.size, level + 1).slice(0, 300).map(draw));
      inner.hidden = !inner.hidden;
      open.textContent = inner.hidden ? "▸" : "▾";
      open.setAttribute("aria-expanded", String(!inner.hidden));
    }, { class: "small", "aria-expanded": "false", "aria-label": `open ${name}` }) : make("span", { class: "gap" });
    return make("div", { class: "memory" }, make("div", { class: "row" }, open, button(name, () => app.select(item), { class: "link" }), bar, make("span", { class: "number" }, bytes(size))), inner);
  };
  if (!total) return [quiet("Nothing is saved for this backward, or its tensors were not recorded.")];
  return [
    make("p", {}, `${bytes(total)} saved for the backward${given ? `, ${bytes(given)} of them inputs` : ""}; each storage counts once, parameters do not.`),
    backward.peak ? quiet(`At most ${backward.peak} (estimated).`) : null,
    ...under(0, 0).slice(0, 300).map(draw),
  ].filter(Boolean);
}
