// Colours boxes by a quantity, with its scale. The quantities and the colours are those of pictures, from the data.

const MEASURES = {
  time: { of: (app, node) => app.backward.seconds(node), say: duration },
  bytes: { of: (app, node) => app.graph.savedBytes([node]), all: (app, nodes) => app.graph.savedBytes(nodes), say: bytes },
  norm: { of: (app, node) => normOf(app, node), say: (value) => Number(value.toPrecision(3)).toString() },
  update: { of: (app, node) => app.backward.updates.get(node), say: (value) => `${Number((100 * value).toFixed(3))} %` },
  findings: { of: (app, node) => (app.backward.findingsAt.get(node) || []).length, say: (value) => String(Math.round(value)) },
};

// The norm of what comes in, all inputs together; null where nothing finite was measured.
function normOf(app, node) {
  const norms = (app.backward.flows.get(node) || []).filter((flow) => !flow.out && typeof flow.norm === "number").map((flow) => flow.norm);
  return norms.length ? Math.hypot(...norms) : null;
}

class Measure {
  constructor(app, name) {
    const [, words, adds, lack] = app.book.data.quantities.find(([one]) => one === name);
    const { of } = MEASURES[name];
    Object.assign(this, { app, name, words, adds, lack, ...MEASURES[name] });
    this.known = new Map();
    this.nodes = Float64Array.from({ length: app.graph.size }, (_, node) => of(app, node) ?? NaN);
    const measured = Array.from(this.nodes).filter((value) => Number.isFinite(value) && value > 0);
    this.low = measured.reduce((least, value) => Math.min(least, value), Infinity);
    this.empty = !measured.length;
  }

  // Of a group the sum, or of norms the greatest.
  value(item) {
    if (!this.known.has(item)) {
      const { tree } = this.app;
      const inside = tree.isGroup(item) ? tree.inside(item - tree.size) : [item, ...tree.rowsOf(item)];
      let found = NaN;
      for (const node of inside) {
        const value = this.nodes[node];
        if (Number.isFinite(value)) found = Number.isNaN(found) ? value : this.adds ? found + value : Math.max(found, value);
      }
      this.known.set(item, this.all ? this.all(this.app, inside) : found);
    }
    return this.known.get(item);
  }

  // The scale ends at the greatest value of a box that shows.
  scale(boxes) {
    this.known.clear();
    this.high = this.low;
    for (const box of boxes) {
      const value = box.open ? NaN : this.value(box.item);
      if (value > this.high) this.high = value;
    }
  }

  share(value) {
    if (!(value > 0)) return 0;
    return this.high > this.low ? Math.max(0.06, Math.log(value / this.low) / Math.log(this.high / this.low)) : 1;
  }

  color(item, theme) {
    const value = this.value(item);
    return this.empty || Number.isNaN(value) ? null : ramp(this.ramp(theme), this.share(value));
  }

  ramp(theme) {
    return this.app.book.data.themes[theme].ramp;
  }

  legend(theme) {
    if (this.empty) return make("li", {}, `${this.words}: ${this.lack}`);
    const bar = document.createElement("canvas");
    [bar.width, bar.height] = [120, 10];
    const context = bar.getContext("2d");
    for (let x = 0; x < 120; x++) {
      context.fillStyle = ramp(this.ramp(theme), x / 119);
      context.fillRect(x, 0, 1, 10);
    }
    bar.setAttribute("aria-hidden", "true");
    return make("li", { class: "scale" }, `${this.words}: ${this.say(this.low)} `, bar, ` ${this.say(this.high)} (logarithmic)`);
  }
}

function ramp(colors, share) {
  const at = Math.min(Math.max(share, 0), 1) * (colors.length - 1);
  const [one, two] = [colors[Math.floor(at)], colors[Math.ceil(at)]].map((color) => [1, 3, 5].map((start) => parseInt(color.slice(start, start + 2), 16)));
  return `#${one.map((part, place) => Math.round(part + (two[place] - part) * (at % 1)).toString(16).padStart(2, "0")).join("")}`;
}

// Black or white, whichever can be read on a colour, and how well.
const inkOn = (color) => (brightness(color) > 0.179 ? "#000000" : "#ffffff");
const contrast = (color) => (brightness(color) > 0.179 ? (brightness(color) + 0.05) / 0.05 : 1.05 / (brightness(color) + 0.05));

function brightness(color) {
  const [r, g, b] = [1, 3, 5].map((start) => {
    const part = parseInt(color.slice(start, start + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
