/** Numbers of rows of captured steps above `exactSizes`; a step with another number has idle rows. */
const stride = 8;
/** The same above `largeSizes`. */
const largeStride = 32;
/** Up to this many rows, and above `largestSize`, steps have no idle rows. */
const exactSizes = 16;
const largeSizes = 64;
const largestSize = 256;

/** The number of rows that a step of `rows` rows computes, idle rows included. */
export function sizeOf(rows: number): number {
  if (rows <= exactSizes || rows > largestSize) return rows;
  const multiple = rows <= largeSizes ? stride : largeStride;
  return Math.ceil(rows / multiple) * multiple;
}

/** Key of a time: above `largeSizes` the sizes are powers of 2 and their middles. */
function classOf(rows: number): number {
  if (rows <= largeSizes) return sizeOf(rows);
  const power = 2 ** Math.floor(Math.log2(rows));
  return rows < 1.5 * power ? power : 1.5 * power;
}

/** Slower steps change a time by this part: one slow step is an accident. */
const slowly = 0.1;

/** The measured milliseconds of steps, by their number of rows. */
export class StepTimes {
  private readonly times = new Map<number, number>();

  learn(rows: number, milliseconds: number): void {
    const size = classOf(rows);
    const known = this.times.get(size);
    const isFaster = known === undefined || milliseconds < known;
    this.times.set(size, isFaster ? milliseconds : known + slowly * (milliseconds - known));
  }

  /** Milliseconds of a step; undefined where none of this size has run. */
  of(rows: number): number | undefined {
    return this.times.get(classOf(rows));
  }

  /**
   * As `of`, but at most the time of a larger size: the first step of a size is slow, and may stay the only one. Where no step of this
   * size has run, the time of the next smaller one; 0 where there is none.
   */
  atLeast(rows: number): number {
    for (let fewer = classOf(rows); fewer > 0; fewer--)
      if (this.times.has(fewer)) return Math.min(...this.timesFrom(fewer));
    return 0;
  }

  /** Times of this size and of larger ones. */
  private timesFrom(least: number): readonly number[] {
    return [...this.times].flatMap(([size, time]) => (size >= least ? [time] : []));
  }

  /** Largest number of rows, a multiple of 8 from `least` on, whose step takes at most `milliseconds`. */
  mostRows(milliseconds: number, least: number, most: number): number {
    let rows = Math.min(sizeOf(least), most);
    for (let next = rows + stride; next <= most; next = rows + stride) {
      if (this.estimate(next, rows) > milliseconds) break;
      rows = next;
    }
    return rows;
  }

  /** The time of `rows` rows: measured; or in proportion to that of `fewer` rows, but at most that of more rows. */
  private estimate(rows: number, fewer: number): number {
    const known = this.timesFrom(classOf(rows));
    if (this.of(rows) !== undefined) return Math.min(...known);
    return Math.min(((this.of(fewer) ?? Number.POSITIVE_INFINITY) * rows) / fewer, ...known);
  }
}
