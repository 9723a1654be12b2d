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
/** Largest depth of the first class; each further class is twice as deep. */
const shallow = 512;

const depthClassOf = (depth: number): number => Math.max(0, Math.ceil(Math.log2(depth / shallow)));

/**
 * The measured milliseconds of steps, by their number of rows and their depth: the mean number of tokens that their
 * sequences hold. Depths fall into classes; a class begins with the times of the next shallower one.
 */
export class StepTimes {
  private readonly classes: SizeTimes[] = [new SizeTimes()];

  learn(rows: number, milliseconds: number, depth = 0): void {
    this.at(depthClassOf(depth)).learn(rows, milliseconds);
  }

  /** Milliseconds of a step; undefined where none of this size has run. */
  of(rows: number, depth = 0): number | undefined {
    return this.near(depth).of(rows);
  }

  /**
   * As `of`, but at most the time of a larger size: the first step of a size is slow, and may stay the only one. Where
   * no step of this size has run, the time of the next smaller one; 0 where there is none.
   */
  atLeast(rows: number, depth = 0): number {
    return this.near(depth).atLeast(rows);
  }

  /** Largest number of rows, a multiple of 8 from `least` on, whose step takes at most `milliseconds`. */
  mostRows(milliseconds: number, least: number, most: number, depth = 0): number {
    const times = this.near(depth);
    let rows = Math.min(sizeOf(least), most);
    for (let next = rows + stride; next <= most; next = rows + stride) {
      if (times.estimate(next) > milliseconds) break;
      rows = next;
    }
    return rows;
  }

  /** Expected milliseconds of a step of any size; see `SizeTimes.estimate`. */
  estimate(rows: number, depth = 0): number {
    return this.near(depth).estimate(rows);
  }

  private near(depth: number): SizeTimes {
    return this.classes[Math.min(depthClassOf(depth), this.classes.length - 1)]!;
  }

  private at(depthClass: number): SizeTimes {
    while (this.classes.length <= depthClass) this.classes.push(new SizeTimes(this.classes.at(-1)!));
    return this.classes[depthClass]!;
  }
}

/** Times by number of rows. */
class SizeTimes {
  private readonly times: Map<number, number>;

  constructor(shallower?: SizeTimes) {
    this.times = new Map(shallower?.times);
  }

  learn(rows: number, milliseconds: number): void {
    const size = classOf(rows);
    const known = this.times.get(size);
    const isFaster = known === undefined || milliseconds < known;
    this.times.set(size, isFaster ? milliseconds : known + slowly * (milliseconds - known));
  }

  of(rows: number): number | undefined {
    return this.times.get(classOf(rows));
  }

  atLeast(rows: number): number {
    for (let fewer = classOf(rows); fewer > 0; fewer--)
      if (this.times.has(fewer)) return Math.min(...this.timesFrom(fewer));
    return 0;
  }

  /**
   * The time of `rows` rows: measured; else on the line between the nearest sizes that have run, or in proportion to
   * the largest one. At most the time of a larger size. Infinity where none has run.
   */
  estimate(rows: number): number {
    const size = classOf(rows);
    const atMost = Math.min(...this.timesFrom(size));
    if (this.times.has(size)) return atMost;
    const sizes = [...this.times.keys()];
    const below = Math.max(...sizes.filter((each) => each < size));
    if (below === Number.NEGATIVE_INFINITY) return atMost;
    const ms = this.atLeast(below);
    if (atMost === Number.POSITIVE_INFINITY) return (ms * rows) / below;
    const above = Math.min(...sizes.filter((each) => each > size));
    return ms + ((this.atLeast(above) - ms) * (rows - below)) / (above - below);
  }

  /** Times of this size and of larger ones. */
  private timesFrom(least: number): readonly number[] {
    return [...this.times].flatMap(([size, time]) => (size >= least ? [time] : []));
  }
}
