// What a page writes into its canvases, and where: `watchTexts` goes into the page before all else.

/** Notes each text with its place on the screen, as far as it is not clipped; runs in the page. */
export function watchTexts() {
  const proto = CanvasRenderingContext2D.prototype;
  const states = new WeakMap();
  const of = (context) => {
    if (!states.has(context)) states.set(context, { clip: null, path: null, saved: [], texts: [], line: [], slanted: [] });
    return states.get(context);
  };
  const around = (name, note) => {
    const original = proto[name];
    proto[name] = function (...values) {
      note.call(this, of(this), ...values);
      return original.apply(this, values);
    };
  };
  around('clearRect', (state) => {
    state.texts = [];
    state.slanted = [];
  });
  around('save', (state) => { state.saved.push(state.clip); });
  around('restore', (state) => { state.clip = state.saved.pop() ?? null; });
  around('beginPath', (state) => {
    state.path = null;
    state.line = [];
  });
  around('lineTo', (state, x, y) => { state.line.push([x, y]); });
  around('stroke', function (state) { // dashed lines change in steps
    if (this.getLineDash().length === 0) return;
    state.line.forEach(([x, y], i) => {
      const [left, below] = state.line[Math.max(0, i - 1)];
      if (Math.abs(x - left) > 0.01 && Math.abs(y - below) > 0.01) state.slanted.push([left, below, x, y]);
    });
  });
  around('rect', (state, left, top, width, height) => { state.path = { left, top, right: left + width, bottom: top + height }; });
  around('clip', (state) => { state.clip = state.path; });
  around('fillText', function (state, text, x, y) {
    const { width } = this.measureText(text);
    const left = this.textAlign === 'right' ? x - width : this.textAlign === 'center' ? x - width / 2 : x;
    const top = { top: y, bottom: y - 11, middle: y - 5.5, alphabetic: y - 9 }[this.textBaseline];
    const box = { left, top, right: left + width, bottom: top + 10 };
    const { clip } = state;
    state.texts.push({
      text,
      left: Math.max(box.left, clip?.left ?? -Infinity),
      top: Math.max(box.top, clip?.top ?? -Infinity),
      right: Math.min(box.right, clip?.right ?? Infinity),
      bottom: Math.min(box.bottom, clip?.bottom ?? Infinity),
    });
  });
  window.slantedOf = (canvas) => of(canvas.getContext('2d')).slanted;
  window.textsOf = (canvas) => of(canvas.getContext('2d')).texts;
}

/** The texts of each canvas in sight. */
export function textsOf(page) {
  return page.locator('canvas:visible').evaluateAll((all) => all.map((canvas) => window.textsOf(canvas)));
}

/** Pairs of texts that lie on each other. */
export function overprinted(texts) {
  const pairs = [];
  texts.forEach((a, i) => {
    for (const b of texts.slice(i + 1)) {
      const isApart = a.right - 1 <= b.left || b.right - 1 <= a.left || a.bottom <= b.top || b.bottom <= a.top;
      const isSeen = [a, b].every((each) => each.right > each.left && each.bottom > each.top);
      if (isSeen && !isApart) pairs.push(`${a.text} | ${b.text}`);
    }
  });
  return pairs;
}
