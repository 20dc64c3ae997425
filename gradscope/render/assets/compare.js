// The tab that compares two backward calls of the recording: nodes, order, gradients, memory, hooks.

function compare(app) {
  const { book } = app;
  if (book.count < 2) return [quiet("The page holds one backward call; there is nothing to compare it with.")];
  app.pair ||= [beside(app), app.place];
  const chooser = (which) => make("select", { "aria-label": `backward ${"AB"[which]}`, change: (event) => {
    app.pair[which] = Number(event.target.value);
    app.showTab("compare");
  } }, book.data.backwards.map((row, place) => make("option", { value: place, selected: app.pair[which] === place }, `backward ${row.number}`)));
  return [make("p", {}, "A ", chooser(0), " with B ", chooser(1)), ...comparison(app, ...app.pair.map((place) => book.backward(place)))];
}

// The call to compare with at first: the last one before with the same graph, else a neighbour.
function beside(app) {
  const { book, place } = app;
  for (let at = place - 1; at >= 0; at--) if (book.data.backwards[at].graph === app.backward.graph) return at;
  return place > 0 ? place - 1 : 1;
}

function comparison(app, left, right) {
  const match = matched(left, right);
  const places = [left, right].map((one) => app.book.placeOf(one.number));
  const memory = [left, right].map((one) => one.shape.savedBytes(one.order));
  const both = (name, values, words = thousands) => ({ cells: [name, ...values.map((value) => (value === null ? "–" : words(value)))] });
  const heads = [{ name: "fact" }, { name: `A: ${left.number}`, number: true }, { name: `B: ${right.number}`, number: true }];
  const rows = [
    both("nodes", [left.shape.size, right.shape.size]),
    both("nodes that ran", [left.order.length, right.order.length]),
    both("saved by them", memory, bytes),
    both("took", [left.duration, right.duration], duration),
    both("hooks fired", [left.firings.length, right.firings.length]),
  ];
  const only = (nodes, side, name) => (nodes.length ? [heading(`Only in ${name}: ${amount(nodes.length, "node")}`),
    inPieces(inOrder(nodes, [left, right][side]), (some) => make("ul", { class: "plain" }, some.map((node) => make("li", {}, otherNode(app, places[side], node)))), 50)] : []);
  return [
    table(heads, rows, { label: "comparison" }),
    make("p", {}, match.same ? "Both ran through the same graph." : `${amount(match.pairs.length, "node")} in both, ${match.left.length} only in A, ${match.right.length} only in B.`),
    make("p", {}, moved(app, left, right, match, places)),
    marked(app, match, places),
    ...only(match.left, 0, "A"), ...only(match.right, 1, "B"),
    ...sideBySide(app, left, right, match, places),
    ...gradientChanges(app, left, right, match, places),
  ].flat();
}

// Marks in the picture what only the backward in front has, and says so.
function marked(app, match, places) {
  const side = places.indexOf(app.place);
  const only = side < 0 ? [] : [match.left, match.right][side];
  app.setFound(only);
  if (side < 0) return quiet("The picture shows neither of them.");
  return only.length ? quiet(`Marked in the picture: what only ${"AB"[side]} has.`) : null;
}

// As they ran, then what did not.
function inOrder(nodes, { position }) {
  const place = (node) => (position[node] < 0 ? Infinity : position[node]);
  return [...nodes].sort((one, other) => (place(one) === place(other) ? one - other : place(one) - place(other)));
}

function otherNode(app, place, node) {
  const { shape, position } = app.book.backward(place);
  return button([make("span", { class: "place" }, position[node] < 0 ? "–" : `#${position[node]}`), " ", dotted([shape.name(node), shape.leaf(node) || shape.module(node)].filter(Boolean).join("  "))],
    () => app.go(place, node), { class: "link" });
}

// Which node is which: the same one in the same graph, else the next with the same name, module, parameter and line.
function matched(left, right) {
  if (left.graph === right.graph) {
    return { same: true, pairs: Array.from({ length: left.shape.size }, (_, node) => [node, node]), left: [], right: [] };
  }
  const keys = (one) => {
    const { shape, book } = one;
    return (node) => {
      const site = shape.site(node);
      const module = shape.columns.call[node] ? book.call(shape.columns.call[node]).path : "";
      return [shape.name(node), module, shape.leaf(node), site ? book.place(site) : ""].join("\n");
    };
  };
  const rest = grouped(Array.from({ length: right.shape.size }, (_, node) => node), keys(right));
  const [pairs, alone, key] = [[], [], keys(left)];
  for (let node = 0; node < left.shape.size; node++) {
    const other = (rest.get(key(node)) || []).shift();
    if (other === undefined) alone.push(node);
    else pairs.push([node, other]);
  }
  return { same: false, pairs, left: alone, right: [...rest.values()].flat().sort((one, other) => one - other) };
}

function moved(app, left, right, match, places) {
  const ranks = (nodes, one) => {
    const rank = new Map();
    [...nodes].filter((node) => one.position[node] >= 0).sort((a, b) => one.position[a] - one.position[b]).forEach((node, at) => rank.set(node, at));
    return rank;
  };
  const ran = match.pairs.filter(([a, b]) => left.position[a] >= 0 && right.position[b] >= 0);
  const [before, after] = [ranks(ran.map(([a]) => a), left), ranks(ran.map(([, b]) => b), right)];
  const out = ran.filter(([a, b]) => before.get(a) !== after.get(b)).sort(([a], [b]) => left.position[a] - left.position[b]);
  if (!out.length) return "What is in both ran in the same order.";
  return [`${amount(out.length, "node")} ran in another order, the first is `, otherNode(app, places[0], out[0][0])];
}

// Both in their orders, the same node in one row, which therefore scroll together; what is alike is left out but for
// what stands next to a difference.
function sideBySide(app, left, right, match, places) {
  const [partner, owner] = [new Map(match.pairs), new Map(match.pairs.map(([a, b]) => [b, a]))];
  const rows = [];
  const extra = right.order.filter((node) => !(owner.has(node) && left.position[owner.get(node)] >= 0));
  let [next, farthest] = [0, -1];
  for (const node of left.order) {
    const place = partner.has(node) ? right.position[partner.get(node)] : -1;
    while (next < extra.length && right.position[extra[next]] < place) rows.push([null, extra[next++], false]);
    rows.push([node, place < 0 ? null : partner.get(node), place > farthest]);
    farthest = Math.max(farthest, place);
  }
  for (; next < extra.length; next++) rows.push([null, extra[next], false]);
  const differs = rows.map((row) => !row[2]);
  if (!differs.includes(true)) return [];
  const near = (at) => differs.slice(Math.max(at - 2, 0), at + 3).includes(true);
  const shownRows = rows.flatMap((row, at) => (near(at) ? [{ row, at }] : []));
  const cell = (node, place) => (node === null ? "–" : otherNode(app, place, node));
  const draw = (some) => table([{ name: "A" }, { name: "B" }], some.map(({ row, at }) => ({ about: differs[at] ? { class: "differs" } : {}, cells: [cell(row[0], places[0]), cell(row[1], places[1])] })), { label: "side by side" });
  return [heading("Side by side"), quiet(`${amount(rows.length - shownRows.length, "row")} alike left out; rows on yellow differ, in what there is or in its place.`), inPieces(shownRows, draw, 100)];
}

function gradientChanges(app, left, right, match, places) {
  const norm = (one, node) => (one.flows.get(node) || []).find((flow) => !flow.out && flow.index === 0)?.norm;
  const rows = match.pairs.map(([a, b]) => ({ node: b, before: norm(left, a), after: norm(right, b) })).filter(({ before, after }) => before !== undefined && after !== undefined);
  if (!rows.length) return [quiet("Gradients were not measured in both (gradscope trace --detail full).")];
  const change = ({ before, after }) => (typeof before === "number" && typeof after === "number" ? Math.abs(DECADES(after) - DECADES(before)) : before === after ? 0 : Infinity);
  rows.sort((one, other) => change(other) - change(one) || one.node - other.node);
  const heads = [{ name: "gradient that came in at" }, { name: "A", number: true }, { name: "B", number: true }, { name: "B / A", number: true }];
  const cells = (row) => ({ cells: [otherNode(app, places[1], row.node), shown(row.before), shown(row.after), typeof row.before === "number" && row.before > 0 && typeof row.after === "number" ? shown(row.after / row.before) : "–"] });
  return [heading("Gradients, the greatest change first"), inPieces(rows, (some) => table(heads, some.map(cells), { label: "gradients" }), 40)];
}
