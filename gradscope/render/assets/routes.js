// Turns a layout of groups, each in its own corner, into places on one sheet, and its wires into lines.

function settle(tree, plans, groups, boxes) {
  plans[0].x = plans[0].y = 0;
  for (const group of groups) {
    const plan = plans[group];
    for (const { item, inner, x, y, w, h, top, bottom, lane } of plan.vertices) {
      const box = { item, x: plan.x + x - w / 2, y: plan.y + y, w, h, open: Boolean(inner) };
      [box.top, box.bottom] = [plan.y + top, plan.y + bottom];  // of its layer
      if (lane !== undefined) box.lane = plan.x + lane;  // beside it, where it stands in a row of a layer
      boxes.set(item, box);
      if (inner) [inner.x, inner.y] = [box.x, box.y];
    }
  }
}

// The points of an arrow, from the foot of its tail through gates and bends to the head of its head. It leaves and
// enters the layers of boxes straight, so that it crosses none of their boxes.
function route(edge, tree, plans, boxes) {
  const tail = boxes.get(edge.tail), head = boxes.get(edge.head);
  if (edge.back) {
    edge.line = around(tail, head);
    edge.box = bounds([[Math.max(tail.x + tail.w, head.x + head.w) + 40, tail.y + tail.h], [head.x, head.y - 24]]);
    edge.middle = [tail.x + tail.w - 3, tail.y - 10];  // beside its foot, above the layer: farther up it passes boxes
    return;
  }
  const points = [];
  const leave = (box, x) => {
    points.push([x, box.y + box.h]);
    if (box.lane !== undefined && box.y + box.h < box.bottom) points.push([box.lane, box.y + box.h + 18]);
    points.push([box.lane ?? x, box.bottom]);
  };
  const enter = (box, x) => {
    if (box.lane === undefined || box.y === box.top) points.push([x, box.top], [x, box.y]);
    else points.push([box.lane, box.top], [box.lane, box.y - 18], [x, box.y]);
  };
  leave(tail, tail.x + tail.w / 2);
  let [left, right] = [tree.around(edge.tail), tree.around(edge.head)];
  const entered = [];
  while (left !== right) {
    if (tree.depth[left] >= tree.depth[right]) {
      const { gate, bends } = plans[left].exits.get(edge.tail);
      follow(points, plans[left], bends);
      leave(boxes.get(tree.size + left), plans[left].x + gate.x);
      left = tree.around(tree.size + left);
    } else {
      entered.unshift(right);
      right = tree.around(tree.size + right);
    }
  }
  follow(points, plans[left], plans[left].wires.get(edge));
  for (const group of entered) {
    const { gate, bends } = plans[group].entries.get(edge.head);
    enter(boxes.get(tree.size + group), plans[group].x + gate.x);
    follow(points, plans[group], bends);
  }
  enter(head, head.x + head.w / 2);
  edge.line = smooth(points);
  edge.box = bounds(points);
  edge.middle = [(points[1][0] + points[2][0]) / 2, (points[1][1] + points[2][1]) / 2];
}

function follow(points, plan, bends) {
  for (const bend of bends) {
    points.push([plan.x + bend.x, plan.y + bend.top]);
    if (bend.bottom > bend.top) points.push([plan.x + bend.x, plan.y + bend.bottom]);
  }
}

const short = (number) => Math.round(number * 10) / 10;

function smooth(points) {
  let line = `M${short(points[0][0])} ${short(points[0][1])}`;
  for (let at = 1; at < points.length; at++) {
    const [[x1, y1], [x2, y2]] = [points[at - 1], points[at]];
    if (Math.abs(x1 - x2) < 1) line += `L${short(x2)} ${short(y2)}`;
    else {
      const middle = short((y1 + y2) / 2);
      line += `C${short(x1)} ${middle} ${short(x2)} ${middle} ${short(x2)} ${short(y2)}`;
    }
  }
  return line;
}

// An arrow against the backward's direction, which grouping can make: out at the right and up again.
function around(tail, head) {
  const x1 = tail.x + tail.w, y1 = tail.y + tail.h / 2;
  const x2 = head.x + head.w / 2, y2 = head.y;
  const out = Math.max(x1, head.x + head.w) + 40;
  return `M${short(x1)} ${short(y1)}C${short(out)} ${short(y1)} ${short(out)} ${short(y2 - 24)} ${short(x2)} ${short(y2 - 24)}L${short(x2)} ${short(y2)}`;
}

function bounds(points) {
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}
