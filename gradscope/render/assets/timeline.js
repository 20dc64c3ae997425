// Under the player: over the order of the backward, what is still kept in memory and the time that each node took.

class Timeline {
  constructor(app, canvas) {
    this.app = app;
    this.canvas = canvas;
    const go = (event) => event.buttons && app.player.go(Math.round((event.offsetX / canvas.clientWidth) * (app.backward.order.length - 1)));
    canvas.addEventListener("pointerdown", go);
    canvas.addEventListener("pointermove", (event) => {
      go(event);
      this.point(event);
    });
    canvas.addEventListener("pointerleave", () => this.point(null));
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  // The crosshair: the node below the pointer, with what is kept after it and the time that it took.
  point(event) {
    const { app, canvas } = this;
    const { order } = app.backward;
    this.pointed = event && order.length ? Math.min(Math.max(Math.round((event.offsetX / canvas.clientWidth) * (order.length - 1)), 0), order.length - 1) : null;
    this.draw();
    if (this.pointed === null) return app.card.tell(null);
    const node = order[this.pointed];
    const took = app.backward.seconds(node);
    app.card.tell([`#${this.pointed} ${app.graph.name(node)}`, app.graph.leaf(node), `${bytes(this.kept[this.pointed])} kept when it runs`, took === null ? "" : `took ${duration(took)}`], event.offsetX, app.stage.height);
  }

  // Bytes that are still kept after each node: a tensor goes when the last node that keeps it has run.
  measure() {
    const { backward, graph } = this.app;
    if (this.of === backward) return;
    this.of = backward;
    const last = new Map();
    backward.order.forEach((node, place) => {
      for (let at = graph.savedFrom[node]; at < graph.savedFrom[node + 1]; at++) {
        if (!graph.columns.owners[graph.storages[at]]) last.set(graph.storages[at], place);
      }
    });
    const count = backward.order.length;
    this.kept = new Float64Array(count + 1);
    for (const [storage, place] of last) this.kept[place] += graph.columns.bytes[storage];
    for (let place = count - 1; place >= 0; place--) this.kept[place] += this.kept[place + 1];
    this.took = Float64Array.from(backward.order, (node) => backward.seconds(node) || 0);
  }

  draw() {
    const { canvas, app } = this;
    if (!app.backward || !canvas.clientWidth) return;
    this.measure();
    const density = devicePixelRatio || 1;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    [canvas.width, canvas.height] = [width * density, height * density];
    const context = canvas.getContext("2d");
    context.scale(density, density);
    const { theme } = app.looks;
    const count = app.backward.order.length;
    const x = (place) => (count > 1 ? (place / (count - 1)) * width : 0);
    const [most, longest] = [Math.max(...[this.kept[0] || 0, 1]), this.took.reduce((one, two) => Math.max(one, two), 0)];
    context.fillStyle = app.looks.strip("SAVED");
    context.beginPath();
    context.moveTo(0, height);
    for (let pixel = 0; pixel <= width; pixel++) context.lineTo(pixel, height - (this.kept[Math.round((pixel / width) * (count - 1))] / most) * (height - 2));
    context.lineTo(width, height);
    context.fill();
    context.fillStyle = theme.quiet;
    const peaks = new Float64Array(Math.ceil(width) + 1);
    this.took.forEach((value, place) => (peaks[Math.floor(x(place))] = Math.max(peaks[Math.floor(x(place))], value)));
    if (longest) peaks.forEach((value, pixel) => value && context.fillRect(pixel, height - (value / longest) * (height - 2), 1.5, (value / longest) * (height - 2)));
    if (this.pointed !== null && this.pointed !== undefined && this.pointed < count) {
      context.fillStyle = theme.ink;
      context.fillRect(x(this.pointed) - 0.5, 0, 1, height);
    }
    if (app.player.at !== null) {
      context.fillStyle = accent(app.looks);
      context.fillRect(x(app.player.at) - 1, 0, 2, height);
    }
    const words = [this.kept[0] ? `kept for the backward: ${bytes(this.kept[0])} at its start, ${bytes(this.kept[app.player.at ?? 0])} now` : "", longest ? `bars: time, at most ${duration(longest)}` : ""].filter(Boolean).join("; ");
    canvas.setAttribute("aria-label", words || "nothing is kept and no time was measured");
    canvas.title = words;
  }
}
