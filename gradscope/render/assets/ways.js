// Ways through the graph: from the loss to a node, and all between two nodes.

// Every node that can be reached from some, along edges or against them.
function reached(graph, nodes, onwards) {
  const found = new Uint8Array(graph.size);
  const waiting = [...nodes];
  for (const node of waiting) found[node] = 1;
  while (waiting.length) {
    const node = waiting.pop();
    for (const edge of (onwards ? graph.outgoing : graph.incoming).of(node)) {
      const next = onwards ? graph.target[edge] : graph.source[edge];
      if (!found[next]) {
        found[next] = 1;
        waiting.push(next);
      }
    }
  }
  return found;
}

// The nodes on any way from some to others; of two boxes, whichever comes first in the backward.
function between(graph, from, to) {
  const [down, up] = [reached(graph, from, true), reached(graph, to, false)];
  const both = down.map((yes, node) => yes & up[node]);
  return both.some(Boolean) ? both : null;
}

class Way {
  constructor(app, from, to, words) {
    const nodes = (item) => (app.tree.isGroup(item) ? [...app.tree.inside(item - app.tree.size)] : [item]);
    const [one, two] = [from === null ? app.backward.roots : nodes(from), nodes(to)];
    this.nodes = between(app.graph, one, two) || between(app.graph, two, one);
    Object.assign(this, { app, from, to, words });
    this.items = null;
  }

  get found() {
    return this.nodes !== null;
  }

  get length() {
    return this.nodes.reduce((sum, yes) => sum + yes, 0);
  }

  // The boxes that it passes through, as they show now.
  place() {
    const shown = this.app.tree.shownNodes();
    this.items = new Set();
    const { graph } = this.app;
    this.edges = new Map();
    this.nodes.forEach((yes, node) => yes && this.items.add(shown[node]));
    for (let edge = 0; edge < graph.source.length; edge++) {
      const [tail, head] = [graph.source[edge], graph.target[edge]];
      if (!this.nodes[tail] || !this.nodes[head] || shown[tail] === shown[head]) continue;
      const key = `${shown[tail]} ${shown[head]}`;
      this.edges.set(key, Math.max(this.edges.get(key) ?? 0, edgeNorm(this.app, edge) ?? 0));
    }
  }

  has(item) {
    return this.items.has(item);
  }

  norm(edge) {
    return this.edges.get(`${edge.tail} ${edge.head}`);
  }
}

// The norm of the gradient that an edge carries, where it was measured.
function edgeNorm(app, edge) {
  const { graph, backward } = app;
  const out = (backward.flows.get(graph.source[edge]) || []).find((flow) => flow.out && flow.index === graph.columns.output[edge]);
  if (out && typeof out.norm === "number") return out.norm;
  const into = (backward.flows.get(graph.target[edge]) || []).find((flow) => !flow.out && flow.index === graph.columns.input[edge]);
  return into && typeof into.norm === "number" ? into.norm : null;
}
