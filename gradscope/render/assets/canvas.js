// The sheet on the screen: moving, zooming, what lies under the pointer, and steps from box to box by keys.

const CLOSEST = 2.5, FARTHEST = 0.02, LEFT = 80, COMFORTABLE = 0.9, READABLE = 0.6;
const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

class Stage {
  constructor(canvas, app) {
    this.canvas = canvas;
    this.app = app;
    this.pen = new CanvasPen(canvas.getContext("2d"));
    this.camera = { x: 0, y: 0, scale: 1 };
    this.pointers = new Map();
    this.resize();
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (event) => this.release(event));
    canvas.addEventListener("pointerleave", () => app.card.over(null, null, 0, 0));
    canvas.addEventListener("dblclick", (event) => {
      const box = this.under(event);
      if (box && app.tree.isGroup(box.item)) app.toggle(box.item);
    });
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas.parentElement;
    const density = devicePixelRatio || 1;
    if (clientWidth === this.width && clientHeight === this.height && density === this.density) return;
    [this.width, this.height, this.density] = [clientWidth, clientHeight, density];
    this.canvas.width = Math.max(1, Math.round(clientWidth * density));
    this.canvas.height = Math.max(1, Math.round(clientHeight * density));
    if (this.fits && this.app.layout) this.fit();
    this.paint();
  }

  // From the top, as wide as the sheet where words can be read so; else the middle of it, with signs where it goes on.
  begin() {
    this.fits = false;
    const { width } = this.app.layout;
    const whole = (this.width - 24) / width;
    const scale = whole < READABLE ? COMFORTABLE : Math.min(whole, 1.15);
    const root = this.app.layout.boxes.get(this.app.tree.shown(this.app.backward.roots[0] ?? 0));
    const middle = root && width * scale > this.width ? root.x + root.w / 2 : width / 2;
    this.camera = { scale, x: middle - this.width / 2 / scale, y: -8 / scale };
    this.draw();
  }

  fit() {
    this.fits = true;
    const { width, height } = this.app.layout;
    const scale = Math.min((this.width - 16) / width, (this.height - 16) / height, 1.5);
    this.glide({ scale, x: width / 2 - this.width / 2 / scale, y: height / 2 - this.height / 2 / scale });
  }

  glide(target) {
    const from = { ...this.camera };
    const started = performance.now();
    cancelAnimationFrame(this.gliding);
    if (calm()) {
      this.camera = target;
      return this.paint();
    }
    const step = (now) => {
      const part = Math.min((now - started) / 180, 1);
      const ease = part * (2 - part);
      for (const key of ["x", "y", "scale"]) this.camera[key] = from[key] + (target[key] - from[key]) * ease;
      this.paint();
      if (part < 1) this.gliding = requestAnimationFrame(step);
    };
    this.gliding = requestAnimationFrame(step);
  }

  // Bring a box into view; when it is there already, nothing moves.
  show(item) {
    const box = this.app.layout.boxes.get(item);
    if (!box || !this.width) return;
    const scale = Math.max(this.camera.scale, COMFORTABLE * 0.8);
    const [left, top] = [(box.x - this.camera.x) * scale, (box.y - this.camera.y) * scale];
    const inside = left > 0 && top > 0 && left + box.w * scale < this.width && top + Math.min(box.h, 60) * scale < this.height;
    if (inside && scale === this.camera.scale) return this.draw();
    const down = box.open ? Math.min(box.h / 2, this.height / 2 / scale - 10) : box.h / 2;
    this.glide({ scale, x: box.x + box.w / 2 - this.width / 2 / scale, y: box.y + down - this.height / 2 / scale });
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    this.fits = false;
    const { camera } = this;
    const { width, height } = this.app.layout;
    const whole = Math.min((this.width - 16) / width, (this.height - 16) / height);
    const scale = Math.min(Math.max(camera.scale * factor, Math.min(FARTHEST, whole)), CLOSEST);
    camera.x += x / camera.scale - x / scale;
    camera.y += y / camera.scale - y / scale;
    camera.scale = scale;
    this.draw();
  }

  wheel(event) {
    this.fits = false;
    event.preventDefault();
    const pixels = event.deltaMode === 1 ? 20 : 1;
    if (event.ctrlKey || event.metaKey) return this.zoom(Math.exp(-event.deltaY * pixels * 0.01), event.offsetX, event.offsetY);
    this.camera.x += ((event.shiftKey ? event.deltaY : event.deltaX) * pixels) / this.camera.scale;
    this.camera.y += ((event.shiftKey ? 0 : event.deltaY) * pixels) / this.camera.scale;
    this.draw();
  }

  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.moved = false;
    this.canvas.focus({ preventScroll: true });
  }

  drag(event) {
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      const box = this.under(event);
      const edge = box && !box.open ? null : this.edgeUnder(event);
      this.canvas.style.cursor = edge || box ? "pointer" : "grab";
      return this.app.card.over(box, edge, event.offsetX, event.offsetY);
    }
    const now = { x: event.offsetX, y: event.offsetY };
    if (Math.hypot(now.x - before.x, now.y - before.y) < 4 && !this.moved) return;
    this.moved = true;
    this.fits = false;
    const other = [...this.pointers].find(([id]) => id !== event.pointerId);
    if (other) {
      const span = (point) => Math.hypot(point.x - other[1].x, point.y - other[1].y) || 1;
      this.zoom(span(now) / span(before), (now.x + other[1].x) / 2, (now.y + other[1].y) / 2);
    } else {
      this.camera.x -= (now.x - before.x) / this.camera.scale;
      this.camera.y -= (now.y - before.y) / this.camera.scale;
    }
    this.pointers.set(event.pointerId, now);
    this.draw();
  }

  release(event) {
    const was = this.pointers.delete(event.pointerId);
    if (!was || this.moved || event.type === "pointercancel") return;
    const box = this.under(event);
    const edge = box && !box.open ? null : this.edgeUnder(event);
    if (edge) return this.app.select(this.app.selected === edge.head ? edge.tail : edge.head);
    if (!box) return this.app.select(null);
    if (event.shiftKey && this.app.selected !== null) return this.app.showWay(this.app.selected, box.item);
    const { x, y } = this.onSheet(event);
    if (this.app.tree.isGroup(box.item) && y - box.y < 24 && x - box.x < 26) return this.app.toggle(box.item);
    this.app.select(this.row(box, y) ?? box.item, { move: false });
  }

  onSheet(event) {
    const { camera } = this;
    return { x: camera.x + event.offsetX / camera.scale, y: camera.y + event.offsetY / camera.scale };
  }

  // The innermost box under the pointer.
  under(event) {
    const { x, y } = this.onSheet(event);
    let found = null;
    for (const box of this.app.layout.boxes.values()) {
      if (x < box.x || y < box.y || x > box.x + box.w || y > box.y + box.h) continue;
      if (!found || box.w * box.h < found.w * found.h) found = box;
    }
    return found;
  }

  // The node that stands as a line in a box.
  row(box, y) {
    if (box.open || this.camera.scale * NOTE < 5) return undefined;
    const line = this.app.describe(box.item).lines[Math.floor((y - box.y - 7 - ROW) / ROW)];
    return line && line.node;
  }

  draw() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.paint();
    });
  }

  paint() {
    const { app, camera, density } = this;
    if (!app.layout || !this.width) return;
    this.hold();
    const { context } = this.pen;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = app.looks.theme.paper;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const scale = camera.scale * density;
    context.setTransform(scale, 0, 0, scale, -camera.x * scale, -camera.y * scale);
    const part = [camera.x, camera.y, camera.x + this.width / camera.scale, camera.y + this.height / camera.scale];
    paint(this.pen, { layout: app.layout, describe: app.describe, looks: app.looks, eye: app.eye(camera.scale, part) });
    app.overview.frame();
    const stage = this.canvas.parentElement;
    stage.toggleAttribute("data-left", part[0] > 0);
    stage.toggleAttribute("data-right", part[2] < app.layout.width);
  }

  // Some of the drawing always stays on the sheet.
  hold() {
    const { camera, app: { layout } } = this;
    const left = LEFT / camera.scale;
    camera.x = Math.min(Math.max(camera.x, left - this.width / camera.scale), layout.width - left);
    camera.y = Math.min(Math.max(camera.y, left - this.height / camera.scale), layout.height - left);
  }

  // The arrow under the pointer.
  edgeUnder(event) {
    const { x, y } = this.onSheet(event);
    const reach = 5 / this.camera.scale;
    const { context } = this.pen;
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.lineWidth = 2 * reach;
    const found = this.app.layout.edges.find((edge) => edge.path && x >= edge.box[0] - reach && x <= edge.box[2] + reach && y >= edge.box[1] - reach && y <= edge.box[3] + reach && context.isPointInStroke(edge.path, x, y));
    context.restore();
    return found;
  }

  // The nearest box in a direction: up and down along arrows, left and right beside.
  next(item, key) {
    const { layout } = this.app;
    const here = layout.boxes.get(item);
    if (!here) return [...layout.boxes.values()].filter((box) => !box.open).sort((one, other) => one.y - other.y)[0]?.item;
    const middle = (box) => [box.x + box.w / 2, box.y + box.h / 2];
    const [x, y] = middle(here);
    if (key === "ArrowUp" || key === "ArrowDown") {
      const down = key === "ArrowDown";
      const ends = layout.edges.filter((edge) => (down ? edge.tail : edge.head) === item).map((edge) => (down ? edge.head : edge.tail));
      const near = (box) => Math.abs(middle(box)[0] - x) + Math.abs(middle(box)[1] - y);
      const boxes = ends.map((end) => layout.boxes.get(end)).sort((one, other) => near(one) - near(other));
      if (boxes.length) return boxes[0].item;
    }
    const way = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] }[key];
    let best = null, least = Infinity;
    for (const box of layout.boxes.values()) {
      if (box === here || box.open) continue;
      const [dx, dy] = [middle(box)[0] - x, middle(box)[1] - y];
      const along = dx * way[0] + dy * way[1];
      const aside = Math.abs(way[0] ? dy : dx);
      if (along > 4 && along + 3 * aside < least) [best, least] = [box, along + 3 * aside];
    }
    return best ? best.item : item;
  }
}

// The whole sheet as an SVG file, drawn with the same words and shapes.
function toSvg(app) {
  const { layout } = app;
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const margin = 12;
  const [width, height] = [Math.ceil(layout.width + 2 * margin), Math.ceil(layout.height + 2 * margin)];
  const about = { width, height, viewBox: `${-margin} ${-margin} ${width} ${height}`, "font-family": SANS };
  for (const [key, value] of Object.entries(about)) picture.setAttribute(key, value);
  const pen = new SvgPen(picture);
  pen.add("title", {}, app.caption());
  pen.add("rect", { x: -margin, y: -margin, width, height, fill: app.looks.theme.paper });
  const eye = { ...app.eye(1, [-Infinity, -Infinity, Infinity, Infinity]), selected: null, found: new Set(), play: null };
  paint(pen, { layout, describe: app.describe, looks: app.looks, eye: { ...eye, isNear: () => false } });
  return new XMLSerializer().serializeToString(picture);
}
