// Which boxes show: groups that are open or closed, and small nodes that stand as rows in the box of another.
// An item is a node, by its id, or a group, by its number behind the last node's id.

const MOST_ARROWS = 3;  // to a parameter, before each of its users says its name instead
const REPEAT = 1;  // the kind of group that stands for more of the same

class Tree {
  constructor(backward) {
    this.backward = backward;
    this.graph = backward.shape;
    this.size = this.graph.size;
    this.rows = this.graph.columns.groups;
    const { rules } = this.graph.book.data;
    this.folds = { parameters: rules.fold && rules.params === null, views: rules.fold };
    this.open = new Uint8Array(this.rows.length);
    this.open[0] = 1;
    this.plant();
    this.fold();
  }

  // Children in backward order, and the nodes of each group side by side in `line`.
  plant() {
    const { size, graph } = this;
    this.children = this.rows.map(() => []);
    const placed = new Uint8Array(this.rows.length);
    placed[0] = 1;
    for (const node of this.nodes()) {
      let item = node;
      let group = graph.group[node];
      for (;;) {
        this.children[group].push(item);
        if (placed[group]) break;
        placed[group] = 1;
        item = size + group;
        group = this.rows[group][2];
      }
    }
    this.depth = this.rows.map(() => 0);
    this.rows.forEach((row, group) => (this.depth[group] = group ? this.depth[row[2]] + 1 : 0));
    this.line = new Int32Array(size);
    this.start = new Int32Array(this.rows.length);
    this.stop = new Int32Array(this.rows.length);
    this.lineUp();
  }

  lineUp() {
    let at = 0;
    const waiting = [[0, 0]];
    while (waiting.length) {
      const top = waiting[waiting.length - 1];
      const [group, next] = top;
      if (next === 0) this.start[group] = at;
      if (next === this.children[group].length) {
        this.stop[group] = at;
        waiting.pop();
        continue;
      }
      top[1]++;
      const item = this.children[group][next];
      if (item < this.size) this.line[at++] = item;
      else waiting.push([item - this.size, 0]);
    }
  }

  // Nodes as the engine ran them, then those that it did not run.
  nodes() {
    const { order, position } = this.backward;
    const rest = [];
    for (let node = 0; node < this.size; node++) if (position[node] < 0) rest.push(node);
    return [...order, ...rest];
  }

  inside(group) {
    return this.line.subarray(this.start[group], this.stop[group]);
  }

  isGroup(item) {
    return item >= this.size;
  }

  around(item) {
    return item < this.size ? this.graph.group[item] : this.rows[item - this.size][2];
  }

  groupName(group) {
    return this.graph.book.strings[this.rows[group][0]];
  }

  groupClass(group) {
    const name = this.graph.book.strings[this.rows[group][1]];
    return name === this.groupName(group) ? "" : name;
  }

  // `GPT › blocks › 3`
  path(item) {
    const names = [];
    for (let group = this.around(item); group; group = this.rows[group][2]) names.unshift(this.groupName(group));
    return names.join(" › ");
  }

  // A parameter's accumulator and a change of shape stand in the box of a neighbour of their group, that which sends to
  // them if it can be, unless they say something of their own.
  fold() {
    const { graph, backward } = this;
    const { view, accumulates } = graph.columns;
    const kept = new Set(backward.roots);
    if (backward.number === this.first().number) graph.book.data.rules.keep.forEach((node) => kept.add(node));
    this.holder = Int32Array.from({ length: this.size }, (_, node) => node);
    const ran = (node) => backward.position[node] >= 0;
    const beside = (node, other) => graph.group[other] === graph.group[node] && ran(other) === ran(node);
    const left = [];
    this.chips = new Set();  // parameters with many users: a word in each, and no arrows
    for (const node of this.nodes()) {
      if (accumulates[node] && this.folds.parameters && this.users(node) > MOST_ARROWS && !kept.has(node) && !backward.registered.has(node) && !backward.findingsAt.has(node)) {
        this.chips.add(node);
        this.holder[node] = this.holder[graph.source[graph.incoming.of(node)[0]]];
        continue;
      }
      const leaf = accumulates[node] && this.folds.parameters;
      const shape = view[node] && this.folds.views && graph.outgoing.count(node) === 1;
      if (!(leaf || shape) || graph.incoming.count(node) !== 1 || kept.has(node)) continue;
      if (backward.registered.has(node) || backward.findingsAt.has(node)) continue;
      const source = graph.source[graph.incoming.of(node)[0]];
      if (beside(node, source)) this.holder[node] = this.holder[source];
      else if (shape) left.push(node);
    }
    this.foldOnwards(left, beside);
    const pairs = Array.from(this.holder, (holder, node) => [holder, node]).filter(([holder, node]) => holder !== node);
    this.held = grouped(pairs, ([holder]) => holder);
  }

  // Changes of shape at which a group begins go to what comes after them, with what they hold themselves.
  foldOnwards(nodes, beside) {
    const { graph } = this;
    const onwards = new Map();
    for (const node of nodes.reverse()) {
      const next = (one) => graph.target[graph.outgoing.of(one)[0]];
      let after = next(node);
      while (this.holder[after] === node && graph.outgoing.count(after) === 1) after = next(after);
      const target = this.holder[after];
      if (target !== node && beside(node, target)) onwards.set(node, onwards.get(target) ?? target);
    }
    if (onwards.size) this.holder = this.holder.map((holder) => onwards.get(holder) ?? holder);
  }

  // The backward call in front when the page opens, which its rules are about.
  first() {
    return this.graph.book.data.backwards[this.graph.book.data.chosen];
  }

  users(node) {
    return new Set(Array.from(this.graph.incoming.of(node), (edge) => this.graph.source[edge])).size;
  }

  // Parameters with many users that a box leads to, through the changes of shape that it holds too.
  chipsOf(node) {
    if (!this.chips.size) return [];
    const found = new Set();
    for (const one of [node, ...(this.held.get(node) || []).map(([, held]) => held)]) {
      for (const edge of this.graph.outgoing.of(one)) if (this.chips.has(this.graph.target[edge])) found.add(this.graph.target[edge]);
    }
    return [...found];
  }

  rowsOf(node) {
    return (this.held.get(node) || []).map(([, held]) => held);
  }

  // The box in which an item shows now.
  shown(item) {
    let found = item < this.size ? this.holder[item] : item;
    for (let group = this.around(found); group; group = this.rows[group][2]) {
      if (!this.open[group]) found = this.size + group;
    }
    return found;
  }

  shownNodes() {
    const boxes = new Int32Array(this.rows.length);  // the closed group that hides a group's items, 0 when none does
    for (let group = 1; group < this.rows.length; group++) {
      boxes[group] = boxes[this.rows[group][2]] || (this.open[group] ? 0 : this.size + group);
    }
    const { graph, holder } = this;
    return Int32Array.from(holder, (held) => boxes[graph.group[held]] || held);
  }

  visible(group) {
    return this.children[group].filter((item) => item >= this.size || this.holder[item] === item);
  }

  reveal(item) {
    let changed = false;
    for (let group = this.around(item); group; group = this.rows[group][2]) {
      changed ||= !this.open[group];
      this.open[group] = 1;
    }
    return changed;
  }

  toggle(group) {
    this.open[group] = this.open[group] ? 0 : 1;
  }

  collapse() {
    this.open.fill(0);
    this.open[0] = 1;
  }

  // One level more, everywhere, of repeats as well; a first view leaves those closed.
  expand(repeats = false) {
    this.level(repeats).forEach((group) => (this.open[group] = 1));
  }

  // Closed groups that show.
  level(repeats = false) {
    const found = [];
    const waiting = [0];
    while (waiting.length) {
      for (const item of this.children[waiting.pop()]) {
        if (item < this.size) continue;
        const group = item - this.size;
        if (this.open[group]) waiting.push(group);
        else if ((repeats || this.rows[group][3] !== REPEAT)) found.push(group);
      }
    }
    return found;
  }

  // As many levels as show at most `limit` boxes; a group that stands alone always opens.
  fit(limit) {
    this.collapse();
    const { depth } = this.graph.book.data.rules;
    if (depth !== null) {
      for (let level = 1; level < depth; level++) this.expand();
      return;
    }
    let shown = this.visible(0).length;
    for (;;) {
      const closed = this.level();
      const more = closed.reduce((sum, group) => sum + this.visible(group).length - 1, 0);
      if (!closed.length || (shown + more > limit && shown > 1)) return;
      this.expand();
      shown += more;
    }
  }
}
