import { largeSizes, sizeOf, stride } from './batch.js';

/** Key of a time: above `largeSizes` the sizes are powers of 2 and their middles. */
function classOf(rows: number): number {
  if (rows <= largeSizes) return sizeOf(rows);
  const power = 2 ** Math.floor(Math.log2(rows));
  return rows < 1.5 * power ? power : 1.5 * power;
}

/** Slower steps change a time by this fraction: one slow step is an accident. */
const slowly = 0.1;
/** Largest depth of the first class; each further class is twice as deep. */
const shallow = 512;

const depthClassOf = (depth: number): number => Math.max(0, Math.ceil(Math.log2(depth / shallow)));

/**
 * The measured milliseconds of steps, by their number of rows and their depth: the mean number of tokens that their
 * sequences hold. Depths fall into classes. A size that has not run in a class has the time of the shallower one, times the
 * factor by which the sizes that ran in both are slower.
 */
export class StepTimes {
  private readonly classes: DepthClass[] = [new DepthClass()];

  learn(rows: number, milliseconds: number, depth = 0): void {
    const at = depthClassOf(depth);
    while (this.classes.length <= at) this.classes.push(new DepthClass(this.classes.at(-1)!));
    this.classes[at]!.learn(classOf(rows), milliseconds);
    for (const deeper of this.classes.slice(at)) deeper.forget();
  }

  /** Milliseconds of a step; undefined where none of this size has run. */
  of(rows: number, depth = 0): number | undefined {
    return this.near(depth).get(classOf(rows));
  }

  /**
   * As `of`, but at most the time of a larger size: the first step of a size is slow, and may stay the only one. Where
   * no step of this size has run, the time of the next smaller one; 0 where there is none.
   */
  atLeast(rows: number, depth = 0): number {
    return atLeast(this.near(depth), classOf(rows));
  }

  /** Largest number of rows, a multiple of 8 from `least` on, whose step takes at most `milliseconds`. */
  mostRows(milliseconds: number, least: number, most: number, depth = 0): number {
    const times = this.near(depth);
    let rows = Math.min(sizeOf(least), most);
    for (let next = rows + stride; next <= most; next = rows + stride) {
      if (estimate(times, next) > milliseconds) break;
      rows = next;
    }
    return rows;
  }

  /** Expected milliseconds of a step of any size; Infinity where none has run. */
  estimate(rows: number, depth = 0): number {
    return estimate(this.near(depth), rows);
  }

  private near(depth: number): Times {
    return this.classes[Math.min(depthClassOf(depth), this.classes.length - 1)]!.all();
  }
}

/** Milliseconds by size. */
type Times = ReadonlyMap<number, number>;

/** Times of a class of depths. */
class DepthClass {
  private readonly times = new Map<number, number>();
  /** What `all` gave last. */
  private merged: Times | undefined;

  constructor(private readonly shallower?: DepthClass) {}

  learn(size: number, milliseconds: number): void {
    const known = this.times.get(size);
    const isFaster = known === undefined || milliseconds < known;
    this.times.set(size, isFaster ? milliseconds : known + slowly * (milliseconds - known));
  }

  /** Its own times, and those of the shallower class for other sizes. */
  all(): Times {
    this.merged ??= this.shallower ? this.merge(this.shallower.all()) : this.times;
    return this.merged;
  }

  /** Times of this class or of a shallower one have changed. */
  forget(): void {
    this.merged = undefined;
  }

  private merge(others: Times): Times {
    const factors = [...this.times].flatMap(([size, ms]) =>
      others.has(size) ? [ms / others.get(size)!] : [],
    );
    const factor = factors.length === 0 ? 1 : Math.max(1, Math.min(...factors));
    const all = new Map([...others].map(([size, ms]) => [size, ms * factor]));
    for (const [size, ms] of this.times) all.set(size, ms);
    return all;
  }
}

function atLeast(times: Times, size: number): number {
  for (let fewer = size; fewer > 0; fewer--)
    if (times.has(fewer)) return Math.min(...timesFrom(times, fewer));
  return 0;
}

/**
 * The time of `rows` rows: measured; else on the line between the nearest sizes that have run, or in proportion to
 * the largest one. At most the time of a larger size. Infinity where none has run.
 */
function estimate(times: Times, rows: number): number {
  const size = classOf(rows);
  const atMost = Math.min(...timesFrom(times, size));
  if (times.has(size)) return atMost;
  const sizes = [...times.keys()];
  const below = Math.max(...sizes.filter((each) => each < size));
  if (below === Number.NEGATIVE_INFINITY) return atMost;
  const ms = atLeast(times, below);
  if (atMost === Number.POSITIVE_INFINITY) return (ms * rows) / below;
  const above = Math.min(...sizes.filter((each) => each > size));
  return ms + ((atLeast(times, above) - ms) * (rows - below)) / (above - below);
}

/** Times of this size and of larger ones. */
const timesFrom = (times: Times, least: number): readonly number[] =>
  [...times].flatMap(([size, time]) => (size >= least ? [time] : []));
