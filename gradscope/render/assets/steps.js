// Above the timeline: the loss over the steps of the run, and which of them are in this page; a click opens the nearest.

class RunSteps {
  constructor(app, canvas) {
    this.app = app;
    this.canvas = canvas;
    this.rows = app.book.data.steps;
    this.known = this.rows.filter(([, loss]) => typeof loss === "number").map(([, loss]) => loss);
    canvas.hidden = this.rows.length < 2 || !this.known.length;
    if (canvas.hidden) return;
    const low = this.known.reduce((one, two) => Math.min(one, two)), high = this.known.reduce((one, two) => Math.max(one, two));
    Object.assign(this, { low, high });
    canvas.addEventListener("pointermove", (event) => this.point(event));
    canvas.addEventListener("pointerleave", () => app.card.tell(null));
    canvas.addEventListener("click", (event) => this.open(event));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  under(event) {
    const last = this.rows.length - 1;
    return Math.min(Math.max(Math.round((event.offsetX / this.canvas.clientWidth) * last), 0), last);
  }

  point(event) {
    const [number, loss, norm] = this.rows[this.under(event)];
    const held = this.app.book.placeOf(number) >= 0;
    const lines = [`backward ${number}`, loss === null ? "" : `loss ${shown(loss)}`, norm === null ? "" : `gradient norm ${shown(norm)}`, held ? "click: open it" : "not in this page; a click opens the nearest that is"];
    this.app.card.tell(lines, event.offsetX, this.app.stage.height);
  }

  open(event) {
    const at = this.under(event);
    const held = this.rows.map(([number], place) => ({ place, page: this.app.book.placeOf(number) })).filter(({ page }) => page >= 0);
    held.sort((one, other) => Math.abs(one.place - at) - Math.abs(other.place - at));
    if (held.length) this.app.open(held[0].page);
  }

  draw() {
    const { canvas, app, rows } = this;
    if (canvas.hidden || !app.backward || !canvas.clientWidth) return;
    const density = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    [canvas.width, canvas.height] = [width * density, height * density];
    const context = canvas.getContext("2d");
    context.scale(density, density);
    const { theme } = app.looks;
    const x = (at) => 5 + (at / (rows.length - 1)) * (width - 10);  // room for a mark at each end
    const y = (loss) => 3 + (this.high > this.low ? (this.high - loss) / (this.high - this.low) : 0.5) * (height - 9);
    context.strokeStyle = theme.quiet;
    context.lineWidth = 1.5;
    context.beginPath();
    rows.forEach(([, loss], at) => typeof loss === "number" && context.lineTo(x(at), y(loss)));
    context.stroke();
    context.fillStyle = theme.ink;
    context.font = `700 12px ${SANS}`;
    context.textAlign = "center";
    rows.forEach(([, loss], at) => typeof loss === "string" && context.fillText("×", x(at), 11));
    context.fillStyle = accent(app.looks);
    rows.forEach(([number, loss], at) => {
      if (app.book.placeOf(number) < 0) return;
      const top = number !== app.backward.number ? height - 4 : typeof loss === "string" ? 13 : 0;
      context.fillRect(x(at) - 1, top, 2, height - top);
    });
    const here = rows.find(([number]) => number === app.backward.number);
    const words = `loss over ${amount(rows.length, "step")} of the run, from ${shown(rows[0][1] ?? this.known[0])} to ${shown(rows.at(-1)[1] ?? this.known.at(-1))}`;
    canvas.setAttribute("aria-label", here && here[1] !== null ? `${words}; ${shown(here[1])} here` : words);
  }
}
