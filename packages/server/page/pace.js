/** Most share of the time that drawing may take: one part of five. */
const rest = 4;

/** Draws at most once per frame, and rests four times as long as the drawing took. */
export class Pace {
  #timer;
  #ready = 0;

  constructor(draw) {
    this.draw = draw;
  }

  /** Asks for a drawing. */
  ask() {
    if (this.#timer !== undefined) return;
    const wait = Math.max(0, this.#ready - performance.now());
    this.#timer = setTimeout(() => requestAnimationFrame(() => this.now()), wait);
  }

  now() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const begin = performance.now();
    this.draw();
    const end = performance.now();
    this.#ready = end + rest * (end - begin);
  }
}
