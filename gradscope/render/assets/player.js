// Plays the backward: step by step, forwards and backwards, with what waits in the engine's ready queue.

const SPEEDS = [1, 4, 16, 64, 256];  // nodes a second
const SHOWN_IN_QUEUE = 12, TURNS = 9;

class Player {
  constructor(app) {
    this.app = app;
    this.at = null;  // the place of the node that runs now; null: the player is off and everything looks alike
    this.slider = byId("scrub");
    this.speed = byId("speed");
    this.speed.append(...SPEEDS.map((speed) => make("option", { value: speed, selected: speed === 4 }, `${speed} a second`)));
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    byId("play").addEventListener("click", () => this.toggle());
    byId("back").addEventListener("click", () => this.step(-1));
    byId("step").addEventListener("click", () => this.step(1));
    byId("stop").addEventListener("click", () => this.off());
  }

  reset() {
    this.pause();
    this.at = null;
    this.app.followed = null;
    this.counts = new Map();
    this.slider.max = Math.max(this.app.backward.order.length - 1, 0);
    this.slider.value = 0;
    this.slider.disabled = !this.app.backward.order.length;
    this.tell();
  }

  toggle() {
    if (this.timer) return this.pause();
    const last = this.app.backward.order.length - 1;
    if (last < 0) return;
    byId("play").textContent = "⏸ Pause";
    byId("play").setAttribute("aria-pressed", "true");
    if (this.at === null || this.at >= last) this.go(0);
    const tick = () => {
      const speed = Number(this.speed.value);
      const stride = Math.max(1, Math.round(speed / 30));  // a screen shows about so many pictures a second
      if (this.at >= last) return this.pause();
      this.go(Math.min(this.at + stride, last));
      this.timer = setTimeout(tick, (1000 * stride) / speed);
    };
    this.timer = setTimeout(tick, 1000 / Number(this.speed.value));
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = 0;
    byId("play").textContent = "▶ Play";
    byId("play").setAttribute("aria-pressed", "false");
  }

  step(by) {
    this.pause();
    this.go(this.at === null ? 0 : this.at + by);
    this.app.say(this.words());
  }

  off() {
    this.pause();
    this.at = null;
    this.slider.value = 0;
    this.tell();
    this.app.follow(null);
    this.app.timeline.draw();
    this.app.stage.draw();
    this.app.link();
  }

  go(at) {
    const { app } = this;
    const last = app.backward.order.length - 1;
    if (last < 0) return;
    this.at = Math.min(Math.max(at, 0), last);
    this.slider.value = this.at;
    this.tell();
    const item = app.tree.shown(app.backward.order[this.at]);
    app.stage.show(item);
    app.stage.draw();
    app.timeline.draw();
    app.follow(app.backward.order[this.at]);
    if (!this.timer) app.link();
  }

  words() {
    const { backward, graph, book } = this.app;
    if (this.at === null) return `${amount(backward.order.length, "node")} to play`;
    const node = backward.order[this.at];
    const took = backward.seconds(node);
    const site = graph.site(node);
    return [`#${this.at} of ${backward.order.length}`, graph.name(node), graph.leaf(node), site && book.place(site), took === null ? "" : duration(took)].filter(Boolean).join("  ");
  }

  tell() {
    const { app } = this;
    const words = this.words();
    byId("now").replaceChildren(this.at === null ? words : button(words, () => app.select(app.backward.order[this.at]), { class: "link" }));
    this.slider.setAttribute("aria-valuetext", words);
    const queue = this.at === null ? [] : app.backward.queue(this.at);
    this.turns = new Map();
    queue.slice(0, TURNS).forEach((node, turn) => {
      const item = app.tree.shown(node);
      if (!this.turns.has(item)) this.turns.set(item, turn + 1);
    });
    const chips = queue.slice(0, SHOWN_IN_QUEUE).map((node) => make("li", {}, nodeButton(app, node)));
    if (queue.length > SHOWN_IN_QUEUE) chips.push(make("li", { class: "quiet" }, `and ${queue.length - SHOWN_IN_QUEUE} more`));
    if (this.at !== null && !queue.length) chips.push(make("li", { class: "quiet" }, "empty"));
    byId("queue").replaceChildren(...chips);
    byId("waits").textContent = this.at === null ? "Ready queue" : `Ready queue (${queue.length})`;
    byId("stop").disabled = this.at === null;
  }

  // How a box looks while the player is on: its state, the part of it that is done, its turn in the queue.
  mark(item) {
    if (this.at === null) return null;
    const { backward, tree } = this.app;
    const turn = this.turns.get(item);
    if (tree.shown(backward.order[this.at]) === item) return { state: "now", part: this.part(item), turn };
    if (!tree.isGroup(item)) {
      const place = backward.position[item];
      return { state: place >= 0 && place < this.at ? "done" : "later", part: 0, turn };
    }
    const part = this.part(item);
    return { state: part >= 1 ? "done" : part > 0 ? "begun" : "later", part, turn };
  }

  part(item) {
    const { backward, tree } = this.app;
    if (!tree.isGroup(item)) return 0;
    if (!this.counts.has(item)) {
      const places = Int32Array.from(tree.inside(item - tree.size), (node) => backward.position[node]).filter((place) => place >= 0);
      this.counts.set(item, places.sort());
    }
    const places = this.counts.get(item);
    let [low, high] = [0, places.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (places[middle] < this.at) low = middle + 1;
      else high = middle;
    }
    return places.length ? low / places.length : 0;
  }
}
