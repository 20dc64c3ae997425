// Lays out what shows: each open group by itself, in layers along the backward, the inner ones first.
// An arrow that leaves or enters a group passes through a gate on its border, so that it goes round the boxes inside.

const SPACE = { side: 16, head: 30, foot: 14, box: 22, wire: 12, layer: 34 };
const MOST_WIRE = 6000;  // places on wires in one group: beyond that, long arrows go straight
const WIDEST = 2400;  // a layer that is wider becomes rows
const SWEEPS = 6;

// Boxes, by item, with x, y, w, h; open groups are among them. Edges run between boxes, equal ones together.
function layOut(tree, describe) {
  const edges = shownEdges(tree);
  const plans = planned(tree, edges);
  const groups = openGroups(tree);
  for (const group of groups.slice().reverse()) arrange(plans[group], tree, plans, describe);
  const boxes = new Map();
  settle(tree, plans, groups, boxes);
  for (const edge of edges) route(edge, tree, plans, boxes);
  const { width, height } = plans[0];
  return { boxes, edges, width, height };
}

function openGroups(tree) {
  const found = [0];
  for (const group of found) {  // grows while it is walked
    for (const item of tree.children[group]) {
      if (tree.isGroup(item) && tree.open[item - tree.size]) found.push(item - tree.size);
    }
  }
  return found;
}

function shownEdges(tree) {
  const { source, target } = tree.graph;
  const shown = tree.shownNodes();
  const width = tree.size + tree.rows.length;
  const counts = new Map();
  for (let edge = 0; edge < source.length; edge++) {
    const tail = shown[source[edge]], head = shown[target[edge]];
    if (tail === head || tree.chips.has(target[edge])) continue;
    const key = tail * width + head;
    counts.set(key, (counts.get(key) || 0) + 1);
  }
  return Array.from(counts, ([key, count]) => ({ tail: Math.floor(key / width), head: key % width, count, back: false }));
}

// What each open group has to know: links between its items, and its gates: the boxes inside that arrows come to or
// leave from, each with the item that it is or lies in.
function planned(tree, edges) {
  const plans = [];
  const plan = (group) => (plans[group] ||= { group, links: [], entries: new Map(), exits: new Map() });
  openGroups(tree).forEach(plan);
  for (const edge of edges) {
    let [tail, head] = [edge.tail, edge.head];
    let [left, right] = [tree.around(tail), tree.around(head)];
    while (left !== right) {
      if (tree.depth[left] >= tree.depth[right]) {
        plan(left).exits.set(edge.tail, tail);
        tail = tree.size + left;
        left = tree.around(tail);
      } else {
        plan(right).entries.set(edge.head, head);
        head = tree.size + right;
        right = tree.around(head);
      }
    }
    plan(left).links.push({ tail, head, edge });
  }
  return plans;
}

function arrange(plan, tree, plans, describe) {
  const items = tree.visible(plan.group);
  const vertices = items.map((item) => {
    const inner = tree.isGroup(item) && tree.open[item - tree.size] ? plans[item - tree.size] : null;
    const [w, h] = inner ? [inner.width, inner.height] : describe(item).size;
    return { item, inner, w, h, up: [], down: [] };
  });
  const number = new Map(items.map((item, place) => [item, place]));
  layer(vertices, plan.links.map(({ tail, head }) => [number.get(tail), number.get(head)]));
  const layers = wires(plan, vertices, number);
  order(layers);
  place(layers);
  measure(plan, tree, vertices, layers, describe);
}

// Longest paths from the top. Where grouping made a circle, the first item in backward order goes first.
function layer(vertices, links) {
  const missing = new Int32Array(vertices.length);
  const heads = vertices.map(() => new Set());
  const tails = new Int32Array(vertices.length);
  for (const [tail, head] of links) {
    if (heads[tail].has(head)) continue;
    heads[tail].add(head);
    missing[head]++;
    tails[head]++;
  }
  const ready = [];
  const done = new Uint8Array(vertices.length);
  vertices.forEach((vertex, place) => {
    vertex.layer = 0;
    if (!missing[place]) ready.push(place);
  });
  for (let next = 0, stuck = 0; next < vertices.length; next++) {
    while (next === ready.length) {
      if (!done[stuck]) ready.push(stuck);
      stuck++;
    }
    const place = ready[next];
    done[place] = 1;
    for (const head of heads[place]) {
      if (done[head]) continue;
      vertices[head].layer = Math.max(vertices[head].layer, vertices[place].layer + 1);
      if (--missing[head] === 0) ready.push(head);
    }
  }
  vertices.forEach((vertex, place) => {  // what nothing here leads to stands just above what it leads to
    const below = Array.from(heads[place], (head) => vertices[head].layer);
    if (!tails[place] && below.length) vertex.layer = Math.max(Math.min(...below) - 1, 0);
  });
}

// Every arrow becomes a wire: a place in each layer that it crosses. Gates are places above the first or below the last.
function wires(plan, vertices, number) {
  const top = plan.entries.size ? 1 : 0;
  vertices.forEach((vertex) => (vertex.layer += top));
  let last = vertices.reduce((most, vertex) => Math.max(most, vertex.layer), 0);
  if (plan.exits.size) last++;
  const layers = Array.from({ length: last + 1 }, () => []);
  vertices.forEach((vertex) => layers[vertex.layer].push(vertex));
  let room = MOST_WIRE;
  const string = (from, to, shiftFrom, shiftTo) => {
    const span = to.layer - from.layer;
    room -= span - 1;
    const bends = [];
    let before = from, shift = shiftFrom;
    for (let at = from.layer + 1; room > 0 && at < to.layer; at++) {
      const bend = { w: 4, h: 0, layer: at, up: [], down: [], wire: true };
      layers[at].push(bend);
      bends.push(bend);
      tie(before, bend, shift, 0);
      [before, shift] = [bend, 0];
    }
    tie(before, to, shift, shiftTo);
    return bends;
  };
  const gate = (at) => {
    const vertex = { w: 4, h: 0, layer: at, up: [], down: [], wire: true };
    layers[at].push(vertex);
    return vertex;
  };
  plan.wires = new Map();
  for (const { tail, head, edge } of plan.links) {
    const [from, to] = [vertices[number.get(tail)], vertices[number.get(head)]];
    if (from.layer >= to.layer) edge.back = true;
    else plan.wires.set(edge, string(from, to, exit(from, edge.tail), entry(to, edge.head)));
  }
  for (const [box, item] of plan.entries) {
    const to = vertices[number.get(item)];
    const from = gate(0);
    plan.entries.set(box, { gate: from, bends: string(from, to, 0, entry(to, box)) });
  }
  for (const [box, item] of plan.exits) {
    const from = vertices[number.get(item)];
    const to = gate(last);
    plan.exits.set(box, { gate: to, bends: string(from, to, exit(from, box), 0) });
  }
  return layers;
}

const entry = (vertex, box) => (vertex.inner && vertex.inner.entries.has(box) ? vertex.inner.entries.get(box).gate.x - vertex.w / 2 : 0);
const exit = (vertex, box) => (vertex.inner && vertex.inner.exits.has(box) ? vertex.inner.exits.get(box).gate.x - vertex.w / 2 : 0);

// `from` stands above `to`; the arrow touches them so far from their middles.
function tie(from, to, shiftFrom, shiftTo) {
  from.down.push({ to, shift: shiftTo - shiftFrom });
  to.up.push({ to: from, shift: shiftFrom - shiftTo });
}

// Fewer crossings: each layer sorted by the middle of what its places are tied to, down and up again.
function order(layers) {
  const number = (list) => list.forEach((vertex, place) => (vertex.place = place));
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    for (const list of down ? layers : layers.slice().reverse()) {
      for (const vertex of list) {
        const ties = down ? vertex.up : vertex.down;
        vertex.key = ties.length ? ties.reduce((sum, tie) => sum + tie.to.place + tie.shift / 1e4, 0) / ties.length : vertex.place;
      }
      list.sort((one, other) => one.key - other.key || one.place - other.place);
      number(list);
    }
  }
}

// Middles of the places: as near to what they are tied to as their neighbours allow.
function place(layers) {
  for (const list of layers) {
    let x = 0;
    for (const vertex of list) {
      vertex.x = x + vertex.w / 2;
      x += vertex.w + gap(vertex, vertex);
    }
    for (const vertex of list) vertex.x -= x / 2;
    list.rows = x > WIDEST ? inRows(list) : 0;
  }
  for (let sweep = 0; sweep < SWEEPS + 2; sweep++) {
    const ends = sweep === SWEEPS + 1 ? ["up", "down"] : sweep % 2 ? ["down"] : ["up"];
    for (const list of sweep % 2 ? layers.slice().reverse() : layers) if (!list.rows) pull(list, ends);
  }
}

const gap = (one, other) => (one.wire || other.wire ? SPACE.wire : SPACE.box);

// The boxes of a layer that is too wide, in rows below each other.
function inRows(list) {
  const boxes = list.filter((vertex) => !vertex.wire);
  const widest = Math.max(...boxes.map((vertex) => vertex.w)) + SPACE.box;
  const across = Math.max(4, Math.ceil(Math.sqrt(boxes.length * 1.5)));
  boxes.forEach((vertex, at) => {
    vertex.row = Math.floor(at / across);
    vertex.x = ((at % across) - (across - 1) / 2) * widest;
    vertex.lane = vertex.x - widest / 2;
  });
  list.filter((vertex) => vertex.wire).forEach((vertex, at) => (vertex.x = (across * widest) / 2 + at * SPACE.wire));
  return Math.ceil(boxes.length / across);
}

// Least squares with the order kept: neighbours that would overlap are pooled and move together.
function pull(list, ends) {
  const pools = [];
  let before = 0;
  list.forEach((vertex, at) => {
    if (at) before += (list[at - 1].w + vertex.w) / 2 + gap(list[at - 1], vertex);
    vertex.offset = before;
    const wishes = wished(vertex, ends);
    const middle = wishes.length ? (wishes[(wishes.length - 1) >> 1] + wishes[wishes.length >> 1]) / 2 : vertex.x;
    let pool = { sum: (middle - before) * weight(vertex, wishes), weight: weight(vertex, wishes), size: 1 };
    while (pools.length && pools.at(-1).sum / pools.at(-1).weight > pool.sum / pool.weight) {
      const left = pools.pop();
      pool = { sum: left.sum + pool.sum, weight: left.weight + pool.weight, size: left.size + pool.size };
    }
    pools.push(pool);
  });
  let at = 0;
  for (const pool of pools) {
    for (const stop = at + pool.size; at < stop; at++) list[at].x = pool.sum / pool.weight + list[at].offset;
  }
}

// Where its neighbours would have a vertex, from the left; most have few.
function wished(vertex, ends) {
  const found = [];
  for (const end of ends) for (const tie of vertex[end]) found.push(tie.to.x + tie.shift);
  return found.length > 1 ? found.sort((one, other) => one - other) : found;
}

const weight = (vertex, wishes) => (wishes.length ? (vertex.wire ? 4 : 1) : 0.05);

// Heights, and everything moved so that the group's own corner is at 0, 0.
function measure(plan, tree, vertices, layers, describe) {
  const { group } = plan;
  const head = group ? SPACE.head : SPACE.side;
  let left = Infinity, right = -Infinity;
  for (const list of layers) {
    for (const vertex of list) {
      left = Math.min(left, vertex.x - vertex.w / 2);
      right = Math.max(right, vertex.x + vertex.w / 2);
    }
  }
  if (left > right) left = right = 0;
  const title = group ? describe(tree.size + group).header : 0;
  const width = Math.max(right - left + 2 * SPACE.side, title + 2 * SPACE.side);
  const shift = (width - (right - left)) / 2 - left;
  let y = head;
  layers.forEach((list, at) => {
    const gates = (at === 0 && plan.entries.size) || (at === layers.length - 2 && plan.exits.size);
    const tallest = list.reduce((most, vertex) => Math.max(most, vertex.h), 0);
    const height = tallest * (list.rows || 1) + Math.max((list.rows || 1) - 1, 0) * SPACE.box;
    for (const vertex of list) {
      vertex.x += shift;
      if (vertex.lane !== undefined) vertex.lane += shift;
      vertex.y = y + (vertex.row || 0) * (tallest + SPACE.box);
      if (!vertex.row && !list.rows) vertex.y += (tallest - vertex.h) / 2;
      vertex.top = y;
      vertex.bottom = y + height;
    }
    y += height + (at < layers.length - 1 ? (gates ? SPACE.layer / 3 : SPACE.layer + Math.min(list.length, 30)) : 0);
  });
  plan.vertices = vertices;
  plan.width = width;
  plan.height = y + SPACE.foot;
}
