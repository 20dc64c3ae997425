// Unpacks the data and gives it names. A table knows a thing by its number, and 0 is nothing.

const ORIGINS = ["user", "library", "torch"];
const byId = (id) => document.getElementById(id);

async function unpack() {
  return new Book(await unpacked("data").json());
}

function summed(steps) {
  const numbers = new Float64Array(steps.length);
  let at = 0;
  for (let place = 0; place < steps.length; place++) numbers[place] = at += steps[place];
  return numbers;
}

class Book {
  constructor(data) {
    this.data = data;
    this.strings = data.strings;
    this.sources = new Map(data.sources.map(([file, text]) => [file, text.split(/\r\n|\n|\r/)]));
    this.files = new Map(data.files);
    this.hooks = new Map(data.hooks.map(([number, ...row]) => [number, row]));
    this.graphs = new Map();
    this.backwards = new Map();
  }

  get count() {
    return this.data.backwards.length;
  }

  graph(place) {
    if (!this.graphs.has(place)) this.graphs.set(place, new Graph(this.data.graphs[place], this));
    return this.graphs.get(place);
  }

  backward(place) {
    if (!this.backwards.has(place)) this.backwards.set(place, new Backward(this.data.backwards[place], this));
    return this.backwards.get(place);
  }

  placeOf(number) {
    return this.data.backwards.findIndex((row) => row.number === number);
  }

  frame(number) {
    if (!number) return null;
    const [file, line, name, origin] = this.data.frames[number];
    return { number, file, line, function: this.strings[name], origin: ORIGINS[origin] };
  }

  stack(number) {
    const frames = [];
    for (let at = number; at; at = this.data.stacks[at][1]) {
      const frame = this.frame(this.data.stacks[at][0]);
      if (frame) frames.push(frame);
    }
    return frames;
  }

  place(frame) {
    return `${this.strings[this.files.get(frame.file)]}:${frame.line}`;
  }

  line(frame) {
    return (this.sources.get(frame.file) || [])[frame.line - 1];
  }

  call(number) {
    const [label, path, kind, around] = this.data.calls[number];
    return { label: this.strings[label], path: this.strings[path], kind: this.strings[kind], around };
  }

  hook(number) {
    const [kind, name, on, stack] = this.hooks.get(number);
    return { number, kind: this.strings[kind], name: this.strings[name], on: this.strings[on], stack };
  }

  list(number) {
    return this.data.lists[number];
  }
}

class Graph {
  constructor(columns, book) {
    this.columns = columns;
    this.book = book;
    this.size = columns.name.length;
    this.seq = summed(columns.seq);
    this.stacks = summed(columns.stack);
    this.group = Int32Array.from(summed(columns.group));
    this.source = Int32Array.from(summed(columns.source));
    this.target = Int32Array.from(columns.target, (distance, edge) => this.source[edge] + distance);
    this.outgoing = neighbours(this.size, this.source);
    this.incoming = neighbours(this.size, this.target);
    this.storages = summed(columns.storages);
    this.savedFrom = new Int32Array(this.size + 1);
    for (let node = 0; node < this.size; node++) {
      this.savedFrom[node + 1] = this.savedFrom[node] + book.list(columns.saved[node]).length / 2;
    }
    this.parents = new Map(columns.parents.map(([node, ...row]) => [node, row]));
  }

  name(node) {
    return this.book.strings[this.columns.name[node]];
  }

  leaf(node) {
    const leaf = this.book.strings[this.columns.leaf[node]];
    return leaf === "leaf" ? "unnamed leaf" : leaf;
  }

  stack(node) {
    return this.book.stack(this.stacks[node]);
  }

  // The user's line; of a node made in a backward without one, that of the node that was evaluated then.
  site(node) {
    const own = this.stack(node).find((frame) => frame.origin === "user");
    if (own || !this.parents.has(node)) return own;
    return this.book.stack(this.parents.get(node)[2]).find((frame) => frame.origin === "user");
  }

  inputs(node) {
    return this.book.list(this.columns.inputs[node]).map((type) => this.book.strings[type]);
  }

  saved(node) {
    const words = this.book.list(this.columns.saved[node]);
    const found = [];
    for (let at = 0; at < words.length; at += 2) {
      const storage = this.storages[this.savedFrom[node] + at / 2];
      const owner = this.book.strings[this.columns.owners[storage]];
      const [bytes, given] = [this.columns.bytes[storage], this.columns.given[storage]];
      found.push({ name: this.book.strings[words[at]], type: this.book.strings[words[at + 1]], bytes, owner, given });
    }
    return found;
  }

  // Bytes that these nodes keep: each storage once, parameters not at all, because they live on anyway.
  // With `given`, only what the forward was given rather than computed.
  savedBytes(nodes, given = false) {
    const seen = new Set();
    let bytes = 0;
    for (const node of nodes) {
      for (let at = this.savedFrom[node]; at < this.savedFrom[node + 1]; at++) {
        const storage = this.storages[at];
        if (this.columns.owners[storage] || seen.has(storage) || (given && !this.columns.given[storage])) continue;
        seen.add(storage);
        bytes += this.columns.bytes[storage];
      }
    }
    return bytes;
  }

  module(node) {
    const number = this.columns.call[node];
    return number ? this.book.call(number).label : "";
  }
}

// For each node the edges that have it at this end: edges `list[from[node]]` to `list[from[node + 1] - 1]`.
function neighbours(size, ends) {
  const from = new Int32Array(size + 1);
  for (const end of ends) from[end + 1]++;
  for (let node = 0; node < size; node++) from[node + 1] += from[node];
  const next = from.slice();
  const list = new Int32Array(ends.length);
  ends.forEach((end, edge) => (list[next[end]++] = edge));
  return { of: (node) => list.subarray(from[node], from[node + 1]), count: (node) => from[node + 1] - from[node] };
}

class Backward {
  constructor(row, book) {
    Object.assign(this, row);
    this.book = book;
    this.shape = book.graph(row.graph);
    this.order = Int32Array.from(summed(book.list(row.order)));
    this.position = new Int32Array(this.shape.size).fill(-1);
    this.order.forEach((node, place) => (this.position[node] = place));
    this.registered = grouped(pairs(book.list(row.hooks)), ([node]) => node);
    this.firings = row.fired.map(([hook, node, change, byRule, before, after, seconds]) => {
      return { hook, node, change: book.strings[change], byRule, before, after, seconds };
    });
    this.updates = new Map(pairs(row.updates));
    this.firedAt = grouped(this.firings, (firing) => firing.node);
    this.findings = book.data.findings.filter((one) => one.backward === row.number && one.node !== null);
    this.findingsAt = grouped(this.findings, (one) => one.node);
  }

  get name() {
    return `backward ${this.number}`;
  }

  hooksAt(node) {
    return (this.registered.get(node) || []).map(([, hook]) => hook);
  }

  // The operators that ran in a node, each with how often.
  ran(node) {
    const words = this.book.list(this.book.list(this.operators)[node] || 0);
    return pairs(words).map(([name, times]) => this.book.strings[name] + (times > 1 ? ` ×${times}` : ""));
  }

  seconds(node) {
    const place = this.position[node];
    return this.times.length && place >= 0 ? this.times[place] / 1e6 : null;
  }

  // The gradients that were measured, by node.
  get flows() {
    if (!this.flow) {
      const columns = this.gradients;
      const nodes = summed(columns.node);
      const rows = Array.from(nodes, (node, at) => ({
        node, out: columns.out[at], index: columns.index[at], norm: columns.norm[at], max: columns.max[at],
        zeros: columns.zeros[at], nan: columns.nan[at], inf: columns.inf[at],
      }));
      this.flow = grouped(rows, (row) => row.node);
    }
    return this.flow;
  }

  // The place in the order after which each node waits in the ready queue: that of the last node that sends to it.
  get ready() {
    if (!this.readyAt) {
      this.readyAt = new Int32Array(this.shape.size).fill(-1);
      for (let edge = 0; edge < this.shape.source.length; edge++) {
        const target = this.shape.target[edge];
        this.readyAt[target] = Math.max(this.readyAt[target], this.position[this.shape.source[edge]]);
      }
    }
    return this.readyAt;
  }

  // What waits after the node at `place` ran, in the order in which it would run if nothing else came in.
  queue(place) {
    const ready = this.ready;
    const waiting = [];
    for (let at = place + 1; at < this.order.length; at++) {
      if (ready[this.order[at]] <= place) waiting.push(this.order[at]);
    }
    const seq = (node) => (this.shape.seq[node] < 0 ? Infinity : this.shape.seq[node]);
    return waiting.sort((one, other) => {
      const [left, right] = [seq(one), seq(other)];
      return left === right ? this.position[one] - this.position[other] : right - left;
    });
  }
}

function grouped(rows, key) {
  const groups = new Map();
  for (const row of rows) {
    const name = key(row);
    if (groups.has(name)) groups.get(name).push(row);
    else groups.set(name, [row]);
  }
  return groups;
}

function pairs(list) {
  const found = [];
  for (let at = 0; at < list.length; at += 2) found.push([list[at], list[at + 1]]);
  return found;
}
