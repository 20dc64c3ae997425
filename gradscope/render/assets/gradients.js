// The tab about gradient flow: what each node received, from the loss to the leaves, and what reached each parameter.

const POINT_AT = "Point at the curve to see which node it is; a click chooses it.";
const DECADES = (value) => Math.log10(Math.max(value, 1e-45));

function gradients(app) {
  const { backward, book } = app;
  if (!backward.flows.size) {
    return [quiet(`No gradient of this backward was measured (it was recorded at --detail ${book.data.detail}); gradscope trace --detail full does.`)];
  }
  const received = (one, node) => (one.flows.get(node) || []).find((flow) => !flow.out && flow.index === 0);
  const curve = Array.from(backward.order, (node) => ({ node, flow: received(backward, node) })).filter(({ flow }) => flow);
  const leaves = curve.filter(({ node }) => app.graph.columns.accumulates[node]);
  const others = [];
  for (let place = 0; place < book.count; place++) {
    const one = book.data.backwards[place];
    if (one.graph === backward.graph && one.gradients.node.length) others.push(book.backward(place));
  }
  return [
    heading("From the loss to the leaves"), plot(app, curve),
    heading("By parameter"), quiet("2-norm of the gradient, on a logarithmic scale"),
    ...bars(app, leaves, others.length > 1 ? others : [], received),
  ];
}

const isBad = (flow) => flow.nan + flow.inf > 0 || typeof flow.norm !== "number";

// Norms in backward order; a cross stands where a gradient is not finite.
function plot(app, curve) {
  const [width, height, left, foot] = [360, 170, 44, 22];
  const norms = curve.filter(({ flow }) => !isBad(flow) && flow.norm > 0).map(({ flow }) => DECADES(flow.norm));
  const [low, high] = norms.length ? [Math.floor(Math.min(...norms)), Math.max(Math.ceil(Math.max(...norms)), Math.floor(Math.min(...norms)) + 1)] : [0, 1];
  const x = (at) => left + (at / Math.max(curve.length - 1, 1)) * (width - left - 8);
  const y = (decade) => 8 + ((high - decade) / (high - low)) * (height - foot - 8);
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const pen = new SvgPen(picture);
  const { looks: { theme }, backward } = app;
  for (const [key, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, class: "plot", role: "img" })) picture.setAttribute(key, value);
  const first = curve[0].flow.norm, last = curve.at(-1).flow.norm;
  picture.setAttribute("aria-label", `norm of the gradient that each of ${curve.length} nodes received, from ${shown(first)} at the first to ${shown(last)} at the last`);
  const every = Math.ceil((high - low) / 6);
  for (let decade = low; decade <= high; decade += every) {
    pen.add("path", { d: `M${left} ${y(decade)}H${width - 8}`, stroke: theme.frame_border, fill: "none" });
    pen.text(`1e${decade}`, left - 5, y(decade) + 4, { size: 11, color: theme.quiet, anchor: "end" });
  }
  const points = curve.map(({ flow }, at) => (isBad(flow) || !(flow.norm > 0) ? null : `${short(x(at))},${short(y(DECADES(flow.norm)))}`)).filter(Boolean);
  pen.add("polyline", { points: points.join(" "), fill: "none", stroke: accent(app.looks), "stroke-width": 1.5 });
  curve.forEach(({ flow }, at) => isBad(flow) && pen.text("×", x(at), 18, { size: 14, color: theme.ink, weight: 700, anchor: "middle" }));
  pen.text("loss", left, height - 6, { size: 11, color: theme.quiet });
  pen.text("leaves", width - 8, height - 6, { size: 11, color: theme.quiet, anchor: "end" });
  const under = (event) => Math.round((((event.offsetX / picture.clientWidth) * width - left) / (width - left - 8)) * (curve.length - 1));
  picture.addEventListener("click", (event) => {
    const at = under(event);
    if (curve[at]) app.select(curve[at].node, { tab: false });
  });
  const cross = pen.add("path", { stroke: theme.ink, fill: "none", d: "" });
  const words = quiet(POINT_AT);
  picture.addEventListener("pointermove", (event) => {
    const at = under(event);
    const point = curve[at];
    cross.setAttribute("d", point ? `M${short(x(at))} 8V${height - foot}` : "");
    words.textContent = point ? [`#${backward.position[point.node]} ${app.graph.name(point.node)}`, app.graph.leaf(point.node), isBad(point.flow) ? `NaN ${point.flow.nan}, Inf ${point.flow.inf}` : `norm ${shown(point.flow.norm)}`].filter(Boolean).join("  ") : POINT_AT;
  });
  picture.addEventListener("pointerleave", () => cross.setAttribute("d", ""));
  return [picture, words];
}

function bars(app, leaves, others, received) {
  const norms = leaves.filter(({ flow }) => !isBad(flow) && flow.norm > 0).map(({ flow }) => DECADES(flow.norm));
  const [low, high] = [Math.min(...norms) - 0.5, Math.max(...norms)];
  return [inPieces(leaves, (some) => make("div", {}, some.map(({ node, flow }) => {
    const name = app.graph.leaf(node) || app.graph.name(node);
    const words = isBad(flow) ? `NaN ${flow.nan}, Inf ${flow.inf}` : shown(flow.norm);
    const size = isBad(flow) || !(flow.norm > 0) ? 0 : (DECADES(flow.norm) - low) / (high - low);
    return make("div", { class: "row" }, button(dotted(name), () => app.select(node, { tab: false }), { class: isBad(flow) ? "link bad" : "link" }),
      make("meter", { min: 0, max: 1, value: size, "aria-label": `${name}: norm ${words}` }),
      others.length ? sparkline(app, others.map((one) => received(one, node))) : null,
      make("span", { class: "number" }, words));
  })))];
}

// The same parameter over the backward calls of the page.
function sparkline(app, flows) {
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", "0 0 60 16");
  picture.setAttribute("class", "spark");
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", `over ${flows.length} backward calls: ${flows.map((flow) => (flow ? shown(flow.norm) : "–")).join(", ")}`);
  const norms = flows.map((flow) => (flow && !isBad(flow) && flow.norm > 0 ? DECADES(flow.norm) : null));
  const known = norms.filter((norm) => norm !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const points = norms.map((norm, at) => (norm === null ? "" : `${2 + (at / Math.max(norms.length - 1, 1)) * 56},${2 + (high > low ? (high - norm) / (high - low) : 0.5) * 12}`)).filter(Boolean);
  new SvgPen(picture).add("polyline", { points: points.join(" "), fill: "none", stroke: accent(app.looks), "stroke-width": 1.5 });
  return picture;
}
