// The order of a kernel's instructions: which can follow which, and its loops. Instructions are numbered from 0.
import { instructionsOf } from './instructions.mjs';

/** A kernel of readCubin with its instructions and, for each, those that can be next. @throws Error if its code is read wrongly */
export function flowOf(kernel, capability) {
  const instructions = instructionsOf(kernel.code, capability);
  const next = instructions.map((_, at) => nextOf(kernel, instructions, at));
  assertExits(kernel, instructions);
  return { name: kernel.name, instructions, next, reached: reachedFrom(next, 0) };
}

function nextOf({ name: kernel, targets }, instructions, at) {
  const { name, jump, always, never } = instructions[at];
  const after = at + 1 < instructions.length ? [at + 1] : [];
  if (never) return after;
  if (name === 'EXIT' || name === 'RET') return always ? [] : after;
  if (targets.has(at * 16)) return targets.get(at * 16).map((target) => target / 16);
  if (jump === undefined) return after;
  const target = at + 1 + jump;
  if (target < 0 || target >= instructions.length)
    throw new Error(`${kernel}: the jump at ${at * 16} leaves the code: its encoding is another one`);
  return name === 'BRA' && always ? [target] : [...after, target];
}

/** The compiler's list of EXIT against ours: a new encoding is found. */
function assertExits({ name, exits }, instructions) {
  const found = instructions.flatMap((each, at) => (each.name === 'EXIT' ? [at * 16] : []));
  const listed = [...exits].sort((a, b) => a - b);
  if (found.join() !== listed.join())
    throw new Error(`${name}: EXIT at ${found.join(', ')}, the cubin lists ${listed.join(', ')}`);
}

/** The instructions that can follow `start`, itself too. */
export function reachedFrom(next, start) {
  const reached = new Set([start]);
  const left = [start];
  for (let at = left.pop(); at !== undefined; at = left.pop())
    for (const to of next[at])
      if (!reached.has(to)) {
        reached.add(to);
        left.push(to);
      }
  return reached;
}

/**
 * The state before each of these instructions, all by default: `start` before the first of them, then change(state, instruction) joined
 * over all that lead there. join(a, b) must return a itself if b adds nothing.
 */
export function statesOf({ instructions, next }, start, change, join, [first, within] = [0, undefined]) {
  const before = new Array(instructions.length);
  before[first] = start;
  const left = [first];
  for (let at = left.pop(); at !== undefined; at = left.pop()) {
    const after = change(before[at], instructions[at]);
    for (const to of next[at]) {
      if (within && !within.has(to)) continue;
      const joined = before[to] === undefined ? after : join(before[to], after);
      if (joined === before[to]) continue;
      before[to] = joined;
      left.push(to);
    }
  }
  return before;
}

/** Straight runs of instructions: first, last, and the numbers of the runs that can be next. */
function blocksOf({ instructions, next, reached }) {
  const starts = new Set([0]);
  for (const at of reached)
    if (next[at].length !== 1 || next[at][0] !== at + 1) {
      starts.add(at + 1);
      for (const to of next[at]) starts.add(to);
    }
  const firsts = [...starts].filter((at) => reached.has(at)).sort((a, b) => a - b);
  const number = new Map(firsts.map((first, i) => [first, i]));
  return firsts.map((first) => {
    let last = first;
    while (!starts.has(last + 1) && last + 1 < instructions.length) last++;
    return { first, last, next: next[last].map((to) => number.get(to)) };
  });
}

/** Blocks in the order in which a depth-first walk leaves them, last first. */
function orderOf(blocks) {
  const seen = new Set([0]);
  const order = [];
  const left = [[0, 0]];
  while (left.length > 0) {
    const top = left[left.length - 1];
    const to = blocks[top[0]].next[top[1]++];
    if (to === undefined) order.push(left.pop()[0]);
    else if (!seen.has(to)) {
      seen.add(to);
      left.push([to, 0]);
    }
  }
  return order.reverse();
}

/** The last block before each one that every way to it passes (Cooper, Harvey and Kennedy 2001). */
function dominatorsOf(blocks, before) {
  const order = orderOf(blocks);
  const place = new Map(order.map((block, i) => [block, i]));
  const above = [0];
  const meet = (a, b) => {
    while (a !== b)
      if (place.get(a) > place.get(b)) a = above[a];
      else b = above[b];
    return a;
  };
  for (let changed = true; changed; ) {
    changed = false;
    for (const block of order.slice(1)) {
      const found = before[block].filter((each) => above[each] !== undefined).reduce(meet);
      if (found !== above[block]) changed = true;
      above[block] = found;
    }
  }
  return above;
}

function beforeOf(blocks) {
  const before = blocks.map(() => []);
  for (const [i, { next }] of blocks.entries()) for (const to of next) before[to].push(i);
  return before;
}

/** Natural loops, one per head: `head` and `places`, the numbers of its instructions in order; `inner`: it has no other loop in it. */
export function loopsOf(flow) {
  const blocks = blocksOf(flow);
  const before = beforeOf(blocks);
  const above = dominatorsOf(blocks, before);
  const dominates = (a, b) => {
    while (b !== a && b !== 0) b = above[b];
    return a === b;
  };
  const loops = new Map();
  for (const [i, { next }] of blocks.entries())
    for (const head of next) if (dominates(head, i)) grow(loops, before, head, i);
  return [...loops].map(([head, body]) => ({
    head: blocks[head].first,
    places: [...body].sort((a, b) => a - b).flatMap((block) => placesOf(blocks[block])),
    inner: ![...loops.keys()].some((other) => other !== head && body.has(other)),
  }));
}

function grow(loops, before, head, from) {
  const body = loops.get(head) ?? new Set([head]);
  loops.set(head, body);
  const left = [from];
  for (let block = left.pop(); block !== undefined; block = left.pop()) {
    if (body.has(block)) continue;
    body.add(block);
    left.push(...before[block]);
  }
}

const placesOf = ({ first, last }) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
