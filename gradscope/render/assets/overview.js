// The whole graph in a corner, with a frame around what shows; a press or a drag in it moves there.

const MAP = { width: 170, height: 120, gap: 8 };
const CORNERS = [["right", "bottom"], ["left", "bottom"], ["right", "top"], ["left", "top"]];

class Overview {
  constructor(app, holder) {
    this.app = app;
    this.corner = CORNERS[0];
    this.canvas = make("canvas", { id: "map", role: "img", "aria-label": "overview: where the part that shows lies in the whole graph" });
    holder.append(this.canvas);
    const go = (event) => event.buttons && this.go(event);
    this.canvas.addEventListener("pointerdown", go);
    this.canvas.addEventListener("pointermove", go);
  }

  // After what was asked for is on the screen.
  later() {
    clearTimeout(this.waiting);
    this.picture = null;
    this.waiting = setTimeout(() => this.draw(), 60);
  }

  // The boxes, once for each layout: what is larger than a point.
  draw() {
    const { layout, looks, describe } = this.app;
    this.scale = Math.min(MAP.width / layout.width, MAP.height / layout.height);
    const [width, height] = [Math.max(layout.width * this.scale, 8), Math.max(layout.height * this.scale, 8)];
    this.picture = document.createElement("canvas");
    [this.picture.width, this.picture.height] = [Math.ceil(width), Math.ceil(height)];
    const context = this.picture.getContext("2d");
    context.scale(this.scale, this.scale);
    for (const box of layout.boxes.values()) {
      context.fillStyle = box.open ? looks.theme.frame : looks.of(describe(box.item).roles).border;
      context.fillRect(box.x, box.y, Math.max(box.w, 1 / this.scale), Math.max(box.h, 1 / this.scale));
    }
    [this.canvas.width, this.canvas.height] = [this.picture.width, this.picture.height];
    this.frame();
  }

  frame() {
    const { camera, width, height } = this.app.stage;
    if (!this.picture) return;
    const { layout } = this.app;
    const whole = camera.x <= 0 && camera.y <= 0 && camera.x + width / camera.scale >= layout.width && camera.y + height / camera.scale >= layout.height;
    this.canvas.hidden = whole || width < 420;
    if (this.canvas.hidden) return;
    const context = this.canvas.getContext("2d");
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.drawImage(this.picture, 0, 0);
    context.strokeStyle = accent(this.app.looks);
    context.lineWidth = 2;
    context.strokeRect(camera.x * this.scale, camera.y * this.scale, Math.max((width / camera.scale) * this.scale, 4), Math.max((height / camera.scale) * this.scale, 4));
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.settle(), 120);
  }

  // Once the drawing rests: to the corner where the fewest boxes lie, and thin where some lie in each.
  settle() {
    let [best, least] = [this.corner, this.hides(this.corner)];
    for (const corner of CORNERS) {
      const hidden = least && this.hides(corner);
      if (hidden < least) [best, least] = [corner, hidden];
    }
    this.corner = best;
    for (const side of ["left", "right", "top", "bottom"]) this.canvas.style[side] = best.includes(side) ? `${MAP.gap}px` : "auto";
    this.canvas.classList.toggle("thin", least > 0);
  }

  // How much of closed boxes lies under the map in a corner, in square pixels.
  hides([side, end]) {
    const { layout, stage: { camera, width, height } } = this.app;
    const [w, h] = [this.canvas.offsetWidth, this.canvas.offsetHeight];
    const left = camera.x + (side === "left" ? MAP.gap : width - w - MAP.gap) / camera.scale;
    const top = camera.y + (end === "top" ? MAP.gap : height - h - MAP.gap) / camera.scale;
    const [right, bottom] = [left + w / camera.scale, top + h / camera.scale];
    let area = 0;
    for (const box of layout.boxes.values()) {
      if (box.open || box.x >= right || box.y >= bottom || box.x + box.w <= left || box.y + box.h <= top) continue;
      area += (Math.min(box.x + box.w, right) - Math.max(box.x, left)) * (Math.min(box.y + box.h, bottom) - Math.max(box.y, top));
    }
    return area * camera.scale ** 2;
  }

  go(event) {
    const { stage } = this.app;
    stage.camera.x = event.offsetX / this.scale - stage.width / 2 / stage.camera.scale;
    stage.camera.y = event.offsetY / this.scale - stage.height / 2 / stage.camera.scale;
    stage.draw();
  }
}
