// What the lint finds in a kernel, from its instructions alone.
import { loopsOf, reachedFrom, statesOf } from './flow.mjs';

const NONE = 1;
const ONE = 2;
const MORE = 4;

/** How many waits may lie before each instruction: bits of NONE, ONE, MORE. */
function waitsBefore(flow) {
  const change = (state, { name, always }) =>
    name === 'ACQBULK' && always ? (state & NONE ? ONE : 0) | (state & (ONE | MORE) ? MORE : 0) : state;
  return statesOf(flow, NONE, change, (a, b) => a | b);
}

/** One wait for the launches before, on every way, before all of global memory and before the end. */
function dependency(flow) {
  const waits = waitsBefore(flow);
  const at = flow.instructions.map((each, i) => ({ ...each, state: flow.reached.has(i) ? waits[i] : 0 }));
  const early = at.filter(({ global, never, state }) => global && !never && state & NONE);
  const ends = at.filter(({ name, never, state }) => name === 'EXIT' && !never && state & NONE);
  const again = at.filter(({ name, state }) => name === 'ACQBULK' && state & (ONE | MORE));
  const places = (all) => [...new Set(all.map(({ name }) => name))].join(', ');
  return [
    early.length > 0 &&
      `${early.length} accesses of global memory (${places(early)}) may come before the wait for the launches before`,
    ends.length > 0 && `${ends.length} ends may come without a wait for the launches before`,
    again.length > 0 && 'waits twice for the launches before',
  ];
}

const used = ({ instructions, reached }) => instructions.filter((each, i) => reached.has(i) && !each.never);
export const countOf = (instructions, name) => instructions.filter((each) => each.name === name).length;

function constantLoads(flow) {
  const count = used(flow).filter(({ constant }) => constant).length;
  return count > 0 && `${count} loads of ld.global.nc: they may move before the wait`;
}

function localMemory(flow) {
  const count = countOf(used(flow), 'LDL') + countOf(used(flow), 'STL');
  return count > 0 && `${count} accesses of local memory: spills, or arrays that are indexed at run time`;
}

/** Code that is called: it returns, and does not end. On sm_80 shuffles of split warps are calls too, into the kernel's own code. */
function calledFrom({ instructions, next }, call) {
  const code = [...reachedFrom(next, next[call].at(-1))];
  return code.some((at) => instructions[at].name === 'EXIT') ? [] : code;
}

/** Code that a loop calls belongs to it. */
function divisionsIn(flow, { places }) {
  const { instructions } = flow;
  const calls = places.filter((at) => instructions[at].name === 'CALL');
  const called = calls.flatMap((at) => calledFrom(flow, at));
  return [...places, ...new Set(called)].filter((at) => instructions[at].divides).length;
}

/** More than `allowed` in a loop without another loop in it. */
function divisions(flow, allowed) {
  const inner = loopsOf(flow).filter((loop) => loop.inner);
  const count = Math.max(0, ...inner.map((loop) => divisionsIn(flow, loop)));
  return count > allowed && `${count} integer divisions in a loop, ${allowed} expected`;
}

/** Products of a warpgroup that wait for one another: a wait behind each, where one behind each step of 64 of k suffices. */
function serialised(flow) {
  const loop = hotLoop(flow, ({ name }) => name === 'HGMMA');
  const products = countOf(loop, 'HGMMA');
  const waits = loop.filter(({ waitsForProducts }) => waitsForProducts).length;
  return products > 0 && waits * 4 > products && `${waits} waits for ${products} products of a warpgroup`;
}

const BARRIERS = 6;

/** Bytes of global loads that a thread may have under way, at most: a load is, until an instruction waits for its scoreboard. */
export function bytesInFlight(flow, part) {
  const change = (state, { bytes, signals, waits, never }) => {
    const after = state.map((each, i) => (waits & (1 << i) ? 0 : each));
    if (bytes > 0 && !never && signals < BARRIERS) after[signals] = Math.min(1024, after[signals] + bytes);
    return after;
  };
  const join = (a, b) => (b.every((each, i) => each <= a[i]) ? a : a.map((each, i) => Math.max(each, b[i])));
  const states = statesOf(flow, Array(BARRIERS).fill(0), change, join, part);
  const sum = (state) => state.reduce((total, each) => total + each, 0);
  return Math.max(0, ...states.filter(Boolean).map(sum));
}

/** The least of the kernel and of its loops that load as much: of one that loads bit by bit, waiting for each, less than `expected`. */
function leastInFlight(flow, expected) {
  const loaded = ({ places }) => places.reduce((total, at) => total + flow.instructions[at].bytes, 0);
  const loops = loopsOf(flow).filter((loop) => loop.inner && loaded(loop) >= expected);
  const parts = loops.map(({ head, places }) => [head, new Set(places)]);
  return Math.min(...[undefined, ...parts].map((part) => bytesInFlight(flow, part)));
}

/** The smallest loop with at least half of the most instructions that `isWork` takes: its instructions. */
export function hotLoop(flow, isWork) {
  const loops = loopsOf(flow).map(({ places }) => places.map((at) => flow.instructions[at]));
  const most = Math.max(0, ...loops.map((loop) => loop.filter(isWork).length));
  const hot = loops.filter((loop) => loop.some(isWork) && loop.filter(isWork).length * 2 >= most);
  return hot.sort((a, b) => a.length - b.length)[0] ?? [];
}

/** Faults of a kernel in words. hot: its speed matters; constants: it loads tables of the compiler; divisions: allowed in a loop; expected: bytes under way, if known. */
export function faultsOf(flow, { capability, hot, constants, divisions: allowed, expected }) {
  const bytes = expected === undefined ? undefined : leastInFlight(flow, expected);
  return [
    ...(capability >= 90 ? dependency(flow) : []),
    !constants && constantLoads(flow),
    hot && localMemory(flow),
    hot && divisions(flow, allowed),
    serialised(flow),
    bytes < expected && `${bytes} bytes of loads under way in a thread, ${expected} expected`,
  ].filter(Boolean);
}
