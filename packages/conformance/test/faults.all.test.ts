import { type DenseWeight, referenceGroup } from '@quern/backend-reference';
import { formatReport, runConformance } from '@quern/conformance';
import {
  BackendError,
  cacheDtypes,
  type Driver,
  type DriverBuffer,
  type DriverKv,
  type DriverMemory,
  denseFormats,
  elementCount,
  elements,
  f16ToF32,
  f32ToF16,
  type HostBuffer,
  hostMemory,
  inParts,
  type Kernel,
  type KernelDriver,
  type KernelMemory,
  type KernelOperands,
  type KernelWeight,
  kvOf,
  type PlanIo,
  readWeight,
  scaleBytes,
  type WeightPart,
  type WeightSource,
} from '@quern/core';
import type { RunnableCase } from '../src/case.js';
import { Lab } from '../src/lab.js';
import { undeclared } from '../src/suites/undeclared.js';
import { headsFirst } from './heads-first.js';
import { type Granularity, planDriver } from './plan-driver.js';
import { richDriver, toyCodec } from './rich-driver.js';
import { roundingDriver } from './rounding-driver.js';

/** A fault in an otherwise correct driver, and the case that must find it. */
interface Fault {
  readonly plant: (driver: KernelDriver) => Driver;
  readonly suite: string;
  readonly caughtBy: RegExp;
}

type KernelName = keyof KernelDriver['kernels'];
const memory = (operand: KernelMemory | KernelWeight | undefined) => operand as KernelMemory;
const floatsOf = (operand: KernelMemory) => elements(operand) as Float32Array;

/** The driver with one kernel replaced. */
const kernel =
  (name: KernelName, make: (right: Kernel) => Kernel): Fault['plant'] =>
  (driver) => ({ ...driver, kernels: { ...driver.kernels, [name]: make(driver.kernels[name]!) } });

/** The correct kernel on changed operands. */
const operands = (name: KernelName, change: (given: KernelOperands) => KernelOperands): Fault['plant'] =>
  kernel(
    name,
    (right) =>
      (given, ...rest) =>
        right(change(given), ...rest),
  );

const attributes = (name: KernelName, changed: Readonly<Record<string, number>>): Fault['plant'] =>
  kernel(name, (right) => (given, own, outputs) => right(given, { ...own, ...changed }, outputs));

/** The correct kernel, then `spoil`. */
const afterwards = (
  name: KernelName,
  spoil: (outputs: readonly KernelMemory[], given: KernelOperands) => void,
): Fault['plant'] =>
  kernel(name, (right) => async (given, own, outputs) => {
    await right(given, own, outputs);
    spoil(outputs, given);
  });

/** A tensor with changed elements, in its own memory. */
function replaced(tensor: KernelMemory, change: (value: number, index: number) => number): KernelMemory {
  const values = elements(tensor).map(change);
  return { ...tensor, byteOffset: 0, buffer: { id: -1, bytes: values.slice().buffer } as HostBuffer };
}

const weightValues = (weight: KernelWeight) => (weight.weight as DenseWeight).values;
const withValues = (weight: KernelWeight, values: Float32Array): KernelWeight => ({
  ...weight,
  weight: { ...weight.weight, values } as DenseWeight,
});

const withMemory =
  (change: (right: DriverMemory<HostBuffer>) => Partial<DriverMemory<HostBuffer>>): Fault['plant'] =>
  (driver) => {
    const right = hostMemory() as DriverMemory<HostBuffer>;
    return { ...driver, memory: { ...right, ...change(right) } as DriverMemory };
  };

const withKv =
  (change: (right: DriverKv) => Partial<DriverKv>): Fault['plant'] =>
  (driver) => ({ ...driver, kv: { ...kvOf(driver), ...change(kvOf(driver)) } });

/** Objects that a leaking driver keeps alive. */
const leaked: unknown[] = [];
afterEach(() => {
  leaked.length = 0;
});

function held<T>(thing: T): T {
  leaked.push(thing);
  return thing;
}

const refusedDriver = (plant: Fault['plant']): Fault => ({
  suite: 'manifest',
  caughtBy: /^a backend can be made of the driver/,
  plant,
});

const misspelt = (plant: Fault['plant']): Fault => ({
  suite: 'manifest',
  caughtBy: /^every declared name is known/,
  plant,
});

/** The driver with another claim for attention. */
const claiming = (driver: KernelDriver, change: object): KernelDriver => {
  const { ops } = driver.manifest;
  const attention = { ...ops.attention, ...change };
  return { ...driver, manifest: { ...driver.manifest, ops: { ...ops, attention } } };
};

const withProfile = (driver: KernelDriver, change: object): KernelDriver => ({
  ...driver,
  profile: { ...driver.profile, ...change },
});

const ops = (caughtBy: RegExp, plant: Fault['plant']): Fault => ({ suite: 'ops', caughtBy, plant });

const withoutNaN = (tensor: KernelMemory): KernelMemory =>
  tensor.dtype === 'f32' ? replaced(tensor, (value) => (Number.isNaN(value) ? 0 : value)) : tensor;

const refuses = (caughtBy: RegExp, plant: Fault['plant']): Fault => ({ suite: 'errors', caughtBy, plant });

/** Attention that checks blocks, but not the number of keys: it goes on in the next row of the table. */
const readsOn: Fault['plant'] = kernel('attention', (right) => (given, own, outputs) => {
  const [lengths, table] = [elements(memory(given.kvLengths)), elements(memory(given.blockTable))];
  const [B, [blocks, blockSize]] = [memory(given.blockTable).shape[1]!, memory(given.kCache).shape];
  if (lengths.every((length) => length <= B * blockSize!)) return right(given, own, outputs);
  lengths.forEach((length, s) => {
    for (let b = 0; b < length / blockSize!; b++)
      if (!((table[s * B + b] ?? -1) in Array.from({ length: blocks! })))
        throw new BackendError('OUT_OF_RANGE', `block ${b} of sequence ${s}`);
  });
});

const kernelFaults: Readonly<Record<string, Fault>> = {
  'softmax does not subtract the maximum': ops(
    /^softmax: large values/,
    kernel('softmax', () => ({ x }, _attributes, [y]) => {
      const [from, to] = [floatsOf(memory(x)), floatsOf(y!)];
      const width = y!.shape[y!.shape.length - 1]!;
      for (let row = 0; row < to.length; row += width) {
        const powers = from.slice(row, row + width).map(Math.exp);
        const sum = powers.reduce((a, b) => a + b, 0);
        to.set(
          powers.map((power) => power / sum),
          row,
        );
      }
    }),
  ),
  'argmax gives ties to the last': ops(
    /^argmax: ties/,
    kernel('argmax', () => ({ x }, _attributes, [y]) => {
      const [values, width] = [floatsOf(memory(x)), memory(x).shape[memory(x).shape.length - 1]!];
      elements(y!).forEach((_, row) => {
        let best = 0;
        for (let i = 0; i < width; i++) if (values[row * width + i]! >= values[row * width + best]!) best = i;
        elements(y!)[row] = best;
      });
    }),
  ),
  'topK gives ties to the last': ops(
    /^topK: ties/,
    afterwards('topK', ([values, indices]) => {
      const [v, i] = [floatsOf(values!), elements(indices!)];
      if (v[0] === v[1]) [i[0], i[1]] = [i[1]!, i[0]!];
    }),
  ),
  'rmsNorm forgets eps': ops(/^rmsNorm: zeros/, attributes('rmsNorm', { eps: 0 })),
  'silu swallows NaN': ops(
    /^silu: far from zero/,
    afterwards('silu', ([y]) => floatsOf(y!).forEach((v, i, all) => (all[i] = Number.isNaN(v) ? 0 : v))),
  ),
  'silu leaves an odd tail unwritten': ops(
    /^silu: rows/,
    afterwards('silu', ([y]) => {
      const all = floatsOf(y!);
      all.fill(Number.NaN, all.length - (all.length % 8));
    }),
  ),
  'scale fails on an empty tensor': ops(
    /^scale: empty/,
    afterwards('scale', ([y]) => {
      if (elementCount(y!.shape) === 0) throw new RangeError('nothing to do');
    }),
  ),
  'mul writes one element past its output': ops(
    /^mul: same shape/,
    afterwards('mul', ([y]) => {
      const end = y!.byteOffset + 4 * elementCount(y!.shape);
      new Float32Array((y!.buffer as HostBuffer).bytes, end, 1)[0] = 1;
    }),
  ),
  'add broadcasts the wrong way': ops(
    /^add: one row for all/,
    operands('add', ({ a, b }) => {
      const [wide, width] = [memory(a), elementCount(memory(b).shape)];
      const row = floatsOf(memory(b)).slice();
      const values = (i: number) => row[Math.floor((i * width) / elementCount(wide.shape)) % width]!;
      return { a: wide, b: memory(b).shape.length === 1 ? replaced(wide, (_, i) => values(i)) : memory(b) };
    }),
  ),
  'linear drops the last k': ops(
    /^linear: odd sizes/,
    operands('linear', ({ w, ...others }) => {
      const weight = w as KernelWeight;
      const K = weight.shape[1]!;
      return {
        ...others,
        w: withValues(
          weight,
          weightValues(weight).map((v, i) => (i % K === K - 1 ? 0 : v)),
        ),
      };
    }),
  ),
  'linear forgets the bias': ops(
    /^linear: bias/,
    operands('linear', ({ x, w }) => ({ x: x!, w: w! })),
  ),
  'rope takes the other layout': ops(
    /^rope: halves/,
    kernel(
      'rope',
      (right) =>
        (given, { layout }, outputs) =>
          right(given, { layout: 1 - layout! }, outputs),
    ),
  ),
  'rope leaves the unrotated part unwritten': ops(
    /^rope: part of a head/,
    afterwards('rope', ([y], { table }) => {
      const [R, d] = [memory(table).shape[1]!, y!.shape[2]!];
      floatsOf(y!).forEach((_, i, all) => {
        if (i % d >= R) all[i] = Number.NaN;
      });
    }),
  ),
  'attention ignores the block table': ops(
    /^attention: paged/,
    operands('attention', (given) => ({
      ...given,
      blockTable: replaced(memory(given.blockTable), (_, i) => i),
    })),
  ),
  'attention ignores the window': ops(/^attention: sliding window/, attributes('attention', { window: 0 })),
  'attention ignores the soft cap': ops(/^attention: soft cap/, attributes('attention', { softCap: 0 })),
  'attention looks ahead': ops(/^attention: contiguous/, attributes('attention', { causal: 0 })),
  'attention skips its first key': ops(
    /^attention: one token after many/,
    attributes('attention', { window: 36 }),
  ),
  'attention swallows a NaN score': ops(
    /^attention: a NaN key, 38 rows/,
    operands('attention', ({ kCache, ...given }) => ({ ...given, kCache: withoutNaN(memory(kCache)) })),
  ),
  'attention gives values that are NaN the weight 0': ops(
    /^attention: a NaN value, 6 rows/,
    operands('attention', ({ vCache, ...given }) => ({ ...given, vCache: withoutNaN(memory(vCache)) })),
  ),
  'attention spreads a NaN over rows that do not see it': ops(
    /^attention: a NaN key that a sliding window leaves/,
    afterwards('attention', ([y], { kCache }) => {
      const { dtype } = memory(kCache);
      if (dtype === 'f32' && floatsOf(memory(kCache)).some(Number.isNaN)) floatsOf(y!).fill(Number.NaN);
    }),
  ),
  'attention without a cache swallows a NaN score': ops(
    /^uncachedAttention: a NaN key, 40 rows/,
    operands('uncachedAttention', ({ k, ...given }) => ({ ...given, k: withoutNaN(memory(k)) })),
  ),
  'scale takes a factor of 16 bits': ops(
    /^scale: a factor that f32 rounds/,
    kernel(
      'scale',
      (right) =>
        (given, { factor }, outputs) =>
          right(given, { factor: f16ToF32(f32ToF16(factor!)) }, outputs),
    ),
  ),
  'kvAppend is one slot off': ops(
    /^kvAppend: in order/,
    operands('kvAppend', (given) => ({ ...given, slots: replaced(memory(given.slots), (slot) => slot + 1) })),
  ),
  'kvAppend writes rows with slot −1': ops(
    /^kvAppend: scattered, one skipped/,
    operands('kvAppend', (given) => ({
      ...given,
      slots: replaced(memory(given.slots), (slot) => Math.max(slot, 1)),
    })),
  ),
  'an f16 cache is truncated, not rounded': ops(
    /^kvAppend: rounded to f16/,
    operands('kvAppend', (given) => {
      const towardsZero = (v: number) => {
        const half = f32ToF16(v);
        return Math.abs(f16ToF32(half)) > Math.abs(v) ? f16ToF32(half - 1) : v;
      };
      const isHalf = memory(given.kCache).dtype === 'f16';
      return isHalf ? { ...given, k: replaced(memory(given.k), towardsZero) } : given;
    }),
  ),
  'cast to bf16 truncates': ops(
    /^cast: f32 to bf16/,
    kernel('cast', (right) => (given, own, outputs) => {
      if (own.to !== 2 || memory(given.x).dtype !== 'f32') return right(given, own, outputs);
      const bits = new Uint32Array(floatsOf(memory(given.x)).slice().buffer);
      elements(outputs[0]!).set(Uint16Array.from(bits, (word) => word >>> 16));
    }),
  ),
  'maskLogits reads bits from the top': ops(
    /^maskLogits: odd vocabulary/,
    operands('maskLogits', (given) => ({
      ...given,
      bits: replaced(memory(given.bits), (word) => {
        let turned = 0;
        for (let i = 0; i < 32; i++) turned |= ((word >>> i) & 1) << (31 - i);
        return turned;
      }),
    })),
  ),
  'penalise forgets the frequency': ops(
    /^penalise: seen once and twice/,
    operands('penalise', (given) => ({
      ...given,
      strengths: replaced(memory(given.strengths), (v, i) => (i % 3 === 2 ? 0 : v)),
    })),
  ),
  'logProbs takes the next token': ops(
    /^logProbs: rows/,
    operands('logProbs', (given) => ({
      ...given,
      tokens: replaced(memory(given.tokens), (token) => (token === 0 ? 1 : token)),
    })),
  ),
  'angles are computed in f32': ops(
    /^ropeTable: far/,
    afterwards('ropeTable', ([table], { positions, frequencies }) => {
      const [p, f] = [elements(memory(positions)), floatsOf(memory(frequencies))];
      p.forEach((position, t) =>
        f.forEach((frequency, i) => {
          floatsOf(table!)[t * 2 * f.length + i] = Math.cos(Math.fround(position * frequency));
        }),
      );
    }),
  ),
  'sample draws by 12 random bits': ops(
    /^sample: edges between tokens, outside/,
    operands('sample', (given) => ({
      ...given,
      random: replaced(memory(given.random), (word, i) =>
        i % 2 === 0 ? Math.round((word >>> 0) / 2 ** 20) << 20 : 0,
      ),
    })),
  ),
  'sample rounds top-p to 10 bits': ops(
    /^sample: edges of top-p, outside/,
    operands('sample', (given) => ({
      ...given,
      settings: replaced(memory(given.settings), (value, i) =>
        i % 4 === 2 ? Math.fround(Math.round(value * 1024) / 1024) : value,
      ),
    })),
  ),
  'sample compares min-p in f16': ops(
    /^sample: edges of min-p, outside/,
    operands('sample', (given) => ({
      ...given,
      settings: replaced(memory(given.settings), (value, i) =>
        i % 4 === 3 ? f16ToF32(f32ToF16(value)) : value,
      ),
    })),
  ),
  'sample uses the first random number for every row': ops(
    /^sample: every filter/,
    operands('sample', (given) => ({ ...given, draws: replaced(memory(given.draws), () => 0) })),
  ),
  'sample forgets min-p': ops(
    /^sample: every filter/,
    operands('sample', (given) => ({
      ...given,
      settings: replaced(memory(given.settings), (v, i) => (i % 4 === 3 ? -Infinity : v)),
    })),
  ),
  'embed clamps ids': {
    suite: 'errors',
    caughtBy: /^embed: id past the table/,
    plant: operands('embed', (given) => {
      const rows = given.table!.shape[0]!;
      const ids = replaced(memory(given.ids), (id) => Math.min(Math.max(id, 0), rows - 1));
      return { ...given, ids };
    }),
  },
  'attention takes a negative block for block 0': refuses(
    /^attention: a negative block/,
    operands('attention', (given) => ({
      ...given,
      blockTable: replaced(memory(given.blockTable), (block) => Math.max(0, block)),
    })),
  ),
  'attention does not look where its rows begin': refuses(
    /^attention: row bounds that do not begin at 0/,
    operands('attention', (given) => ({
      ...given,
      cuSeqlens: replaced(memory(given.cuSeqlens), (bound, s) => (s === 0 ? 0 : bound)),
    })),
  ),
  'attention reads on behind a row of the block table': refuses(
    /^attention: keys that lie in the next row/,
    readsOn,
  ),
  'attention takes a negative number of keys for none': refuses(
    /^attention: a negative number of keys/,
    operands('attention', (given) => ({
      ...given,
      kvLengths: replaced(memory(given.kvLengths), (length) => Math.max(0, length)),
    })),
  ),
  'attention without a cache does not look where its keys begin': refuses(
    /^uncachedAttention: key bounds that do not begin at 0/,
    operands('uncachedAttention', (given) => ({
      ...given,
      cuKeys: replaced(memory(given.cuKeys), (bound, s) => (s === 0 ? 0 : bound)),
    })),
  ),
  'attention takes a V cache of another shape': {
    suite: 'words',
    caughtBy: /^attention: a V cache unlike the K cache/,
    plant: (driver) => planDriver(driver),
  },
  'gatherRows does not check its rows': {
    suite: 'errors',
    caughtBy: /^gatherRows: past the end/,
    plant: operands('gatherRows', (given) => ({ ...given, rows: replaced(memory(given.rows), () => 0) })),
  },
  'a refused run breaks the driver': {
    suite: 'errors',
    caughtBy: /^embed: id past the table/,
    plant: (driver) => {
      let broken = false;
      const embed: Kernel = (...call) => {
        broken = true;
        driver.kernels.embed(...call);
        broken = false;
      };
      const add: Kernel = (...call) => (broken ? undefined : driver.kernels.add(...call));
      return { ...driver, kernels: { ...driver.kernels, embed, add } };
    },
  },
  'silu overwrites its operand': {
    suite: 'operands',
    caughtBy: /^silu does not change/,
    plant: afterwards('silu', ([y], { x }) => floatsOf(memory(x)).set(floatsOf(y!))),
  },
  'gelu ignores the offset of its operand': {
    suite: 'views',
    caughtBy: /^gelu: erf/,
    plant: operands('gelu', ({ x }) => ({ x: { ...memory(x), byteOffset: memory(x).byteOffset & ~63 } })),
  },
  'swiglu is wrong from row 16 on': {
    suite: 'generated',
    caughtBy: /^swiglu: seed/,
    plant: afterwards('swiglu', ([y]) => floatsOf(y!).fill(0, 16 * y!.shape[1]!)),
  },
  'add writes into an operand that is still needed': {
    suite: 'plans',
    caughtBy: /^random plan/,
    plant: afterwards('add', ([y], { b }) =>
      floatsOf(memory(b)).set(floatsOf(y!).subarray(0, elementCount(memory(b).shape))),
    ),
  },
};

/** The correct kernel, but with more than `few` rows it rounds its results to 16 bits of mantissa. */
const otherwiseBeyond = (name: KernelName, few: number): Fault['plant'] =>
  afterwards(name, ([y]) => {
    const bits = new Int32Array((y!.buffer as HostBuffer).bytes, y!.byteOffset, elementCount(y!.shape));
    if (y!.shape[0]! > few) bits.forEach((value, i) => (bits[i] = value & ~0x7f));
  });

const rowFaults: Readonly<Record<string, Fault>> = {
  'a batchInvariant product depends on the number of rows': {
    suite: 'rows',
    caughtBy: /^linear, batchInvariant, f32/,
    plant: otherwiseBeyond('linear', 16),
  },
  'a fused product forgets batchInvariant': {
    suite: 'rows',
    caughtBy: /^three projections, batchInvariant, bf16/,
    plant: otherwiseBeyond('qkvLinear', 16),
  },
  'exactRows is larger than the exact rows of a product': {
    suite: 'rows',
    caughtBy: /^linear, 24 exact rows, f16/,
    plant: (driver) => {
      const planted = otherwiseBeyond('linear', 23)(driver);
      return { ...planted, profile: { ...planted.profile, exactRows: 24 } };
    },
  },
  'exactRows is larger than the exact rows of attention': {
    suite: 'rows',
    caughtBy: /^attention, 8 exact rows after 250/,
    plant: (driver) => {
      const planted = otherwiseBeyond('attention', 7)(driver);
      return { ...planted, profile: { ...planted.profile, exactRows: 8 } };
    },
  },
};

/**
 * A plan driver whose kernel only compares element counts. It then writes as many output rows as its operand has, with
 * the output's own last dimension as row length.
 */
const countingDriver = (name: KernelName, operand: string): Fault['plant'] => {
  const writeRows: Kernel = (given, _attributes, [y]) => {
    const from = memory(given[operand]);
    const [count, width] = [elementCount(y!.shape), y!.shape.at(-1) ?? 1];
    if (elementCount(from.shape) !== count) throw new BackendError('BAD_ARGUMENT', 'counts differ');
    const rows = count / (from.shape.at(-1) ?? 1);
    const end = Math.min(y!.byteOffset + 4 * rows * width, (y!.buffer as HostBuffer).bytes.byteLength);
    new Uint8Array((y!.buffer as HostBuffer).bytes, y!.byteOffset, end - y!.byteOffset).fill(0);
  };
  return (driver) => planDriver({ ...driver, kernels: { ...driver.kernels, [name]: writeRows } });
};

/**
 * A driver of plans: `profile.abort` is `says`, the abort word is read before the ops of `looks`. Products are all ones and take
 * 50 µs: a step lasts long enough for a signal in its middle, on a busy machine too.
 */
const abortingDriver =
  (says: Granularity, looks: (op: number) => boolean): Fault['plant'] =>
  (driver) => {
    const ones: Kernel = (_operands, _attributes, [y]) => {
      for (const end = performance.now() + 0.05; performance.now() < end; );
      floatsOf(y!).fill(1);
    };
    return planDriver(
      { ...driver, kernels: { ...driver.kernels, linear: ones } },
      { abort: { says, looks } },
    );
  };

/** The source with changed parts, if it has parts. */
const withParts = (
  source: WeightSource,
  change: (parts: WeightPart[]) => readonly WeightPart[],
): WeightSource => (inParts(source.bytes) ? { ...source, bytes: change([...source.bytes]) } : source);

const withPart =
  (change: (parts: WeightPart[]) => readonly WeightPart[]): Fault['plant'] =>
  (driver) => ({ ...driver, loadWeight: (source) => driver.loadWeight(withParts(source, change)) });

const contractFaults: Readonly<Record<string, Fault>> = {
  'truncated weights are accepted': {
    suite: 'weights',
    caughtBy: /^too few bytes/,
    plant: (driver) => ({
      ...driver,
      async loadWeight(source) {
        if (!(source.bytes instanceof Uint8Array)) return driver.loadWeight(source);
        const bytes = new Uint8Array(4 * elementCount(source.shape));
        bytes.set(source.bytes.subarray(0, bytes.length));
        return driver.loadWeight({ ...source, bytes: source.format === 'f32' ? bytes : source.bytes });
      },
    }),
  },
  'the offset in a weight file is ignored': {
    suite: 'weights',
    caughtBy: /^f32 from a file, at byte 36/,
    plant: (driver) => ({
      ...driver,
      loadWeight: ({ bytes, ...source }) =>
        driver.loadWeight({
          ...source,
          bytes: !inParts(bytes) && 'path' in bytes ? { ...bytes, offset: 0 } : bytes,
        }),
    }),
  },
  'parts of a weight are joined in the wrong order': {
    suite: 'weights',
    caughtBy: /^f32 in parts of rows, in memory/,
    plant: withPart((parts) => parts.reverse()),
  },
  'the offset of a part is ignored': {
    suite: 'weights',
    caughtBy: /^f32 in parts of rows, in a file/,
    plant: withPart((parts) =>
      parts.map(({ bytes, ...part }) => ({
        ...part,
        bytes: 'path' in bytes ? { ...bytes, offset: 0 } : bytes,
      })),
    ),
  },
  'columns always begin at 0': {
    suite: 'weights',
    caughtBy: /^bf16: columns of longer rows/,
    plant: withPart((parts) =>
      parts.map(({ columns, ...part }) => ({
        ...part,
        ...(columns && { columns: { ...columns, from: 0 } }),
      })),
    ),
  },
  'a vector in parts is a matrix of one row': {
    suite: 'weights',
    caughtBy: /^f16: a vector in parts/,
    plant: (driver) => ({
      ...driver,
      loadWeight: (source) =>
        driver.loadWeight(
          source.shape.length === 1 ? withParts(source, (parts) => parts.slice(0, 1)) : source,
        ),
    }),
  },
  'columns may begin within a block': {
    suite: 'quantGguf',
    caughtBy: /^toy: columns that begin within a block, at 2/,
    plant: (driver) => ({
      ...driver,
      async loadWeight(source) {
        if (source.format !== 'toy') return driver.loadWeight(source);
        const bytes = await readWeight(source);
        return driver.loadWeight({ ...source, bytes });
      },
    }),
  },
  'a missing file gives an error without a code': {
    suite: 'weights',
    caughtBy: /^a missing file/,
    plant: (driver) => ({
      ...driver,
      loadWeight: (source) =>
        driver.loadWeight(source).catch(() => {
          throw new Error('cannot load');
        }),
    }),
  },
  'bf16 weights are read as f16': {
    suite: 'weights',
    caughtBy: /^bf16 from memory/,
    plant: (driver) => ({
      ...driver,
      loadWeight: (source) =>
        driver.loadWeight({ ...source, format: source.format === 'bf16' ? 'f16' : source.format }),
    }),
  },
  'freeing one weight overwrites the others': {
    suite: 'lifecycle',
    caughtBy: /^disposing one weight/,
    plant: (driver) => {
      const loaded: DenseWeight[] = [];
      return {
        ...driver,
        async loadWeight(source) {
          const weight = await driver.loadWeight(source);
          loaded.push(weight as DenseWeight);
          return weight;
        },
        freeWeight: () => loaded.forEach(({ values }) => values.fill(0)),
      };
    },
  },
  'a freed buffer is reused without zeroing': {
    suite: 'lifecycle',
    caughtBy: /^a buffer starts zeroed/,
    plant: withMemory((right) => {
      const freed: HostBuffer[] = [];
      return {
        allocate(byteLength) {
          const at = freed.findIndex(({ bytes }) => bytes.byteLength === byteLength);
          return at < 0 ? right.allocate(byteLength) : freed.splice(at, 1)[0]!;
        },
        free: (buffer) => void freed.push(buffer),
      };
    }),
  },
  'a too large buffer gives an error without a code': {
    suite: 'memory',
    caughtBy: /^a buffer larger than any memory/,
    plant: withMemory(() => {
      let id = 0;
      return { allocate: (byteLength) => ({ id: id++, bytes: new ArrayBuffer(byteLength) }) };
    }),
  },
  'a write to a part of a buffer goes to its start': {
    suite: 'memory',
    caughtBy: /^parts of a buffer/,
    plant: withMemory((right) => ({ write: (buffer, _offset, bytes) => right.write(buffer, 0, bytes) })),
  },
  'a replay uses the inputs of the previous run': {
    suite: 'graph',
    caughtBy: /^new inputs give new results/,
    plant: withMemory((right) => {
      const written = new Set<HostBuffer>();
      return {
        async write(buffer, offset, bytes) {
          if (!written.has(buffer)) await right.write(buffer, offset, bytes);
          written.add(buffer);
        },
      };
    }),
  },
  'results differ from run to run': {
    suite: 'graph',
    caughtBy: /^a replay equals the step/,
    plant: (driver) => {
      let runs = 0;
      return afterwards('linear', ([y]) => {
        floatsOf(y!)[0]! += 1e-6 * ++runs;
      })(driver);
    },
  },
  'a fused kernel is claimed but never runs': {
    suite: 'fused',
    caughtBy: /^gateUpSwiglu: one row/,
    plant: (driver) => ({ ...driver, kernelRuns: () => ({ gateUpSwiglu: 0 }) }),
  },
  'a fused kernel normalises an operand instead of the sum': {
    suite: 'fused',
    caughtBy: /^addRmsNorm: one row/,
    plant: (driver) =>
      kernel('addRmsNorm', (right) => async (given, own, [sum, y]) => {
        await right(given, own, [sum!, y!]);
        await driver.kernels.rmsNorm({ x: given.a!, w: given.w! }, own, [y!]);
      })(driver),
  },
  'a fused kernel forgets its second output': {
    suite: 'fused',
    caughtBy: /^qkvLinear: one row/,
    plant: afterwards('qkvLinear', (outputs) => floatsOf(outputs[1]!).fill(0)),
  },
  'a fused kernel appends unrotated keys': {
    suite: 'fused',
    caughtBy: /^qkNormRopeAppend: interleaved/,
    plant: (driver) =>
      kernel('qkNormRopeAppend', (right) => async (given, own, outputs) => {
        await right(given, own, outputs);
        await driver.kernels.kvAppend(given, {}, []);
      })(driver),
  },
  'a mixture does not renormalise': {
    suite: 'moeFused',
    caughtBy: /^moe: one row/,
    plant: attributes('moe', { renormalise: 0 }),
  },
  'a mixture forgets the residual': {
    suite: 'moeFused',
    caughtBy: /^moe: one row/,
    plant: operands('moe', ({ residual, ...others }) => ({
      ...others,
      residual: replaced(memory(residual), () => 0),
    })),
  },
  'experts are stacked in reverse order': {
    suite: 'moeFused',
    caughtBy: /^moe of f32 stacks/,
    plant: (driver) => ({
      ...driver,
      loadWeight: (source) =>
        driver.loadWeight(source.shape.length === 3 ? withParts(source, (parts) => parts.reverse()) : source),
    }),
  },
  'a block is decoded with the scale of its neighbour': {
    suite: 'quantGguf',
    caughtBy: /^linear: toy/,
    plant: operands('linear', ({ w, ...others }) => {
      const weight = w as KernelWeight;
      const values = weightValues(weight);
      const first = values[0]! || 1;
      return {
        ...others,
        w:
          weight.format === 'toy'
            ? withValues(
                weight,
                values.map((v) => v * first),
              )
            : weight,
      };
    }),
  },
  'zero points of GPTQ are used as stored': {
    suite: 'quantGptq',
    caughtBy: /^linear, 4 bits, symmetric/,
    plant: (driver) => ({ ...driver, loadGptq: (source) => driver.loadGptq!({ ...source, version: 2 }) }),
  },
  'GPTQ forgets the order of columns': {
    suite: 'quantGptq',
    caughtBy: /^linear, 8 bits, act-order/,
    plant: (driver) => ({
      ...driver,
      loadGptq: ({ groupIndex: _, ...source }) => driver.loadGptq!(source),
    }),
  },
  'block sizes must be a power of two': {
    suite: 'pagedKv',
    caughtBy: /^blocks of 13 tokens equal/,
    plant: operands('attention', (given) => {
      const [blocks, size] = memory(given.kCache).shape;
      return blocks! > 6 && size === 13
        ? { ...given, blockTable: replaced(memory(given.blockTable), () => 0) }
        : given;
    }),
  },
  'blocks are written to the start of a cache': {
    suite: 'caches',
    caughtBy: /^a write to a block of f16 leaves the others/,
    plant: withKv((right) => ({ write: (to, _first, count, bytes) => right.write(to, 0, count, bytes) })),
  },
  'only the first of several blocks is read': {
    suite: 'caches',
    caughtBy: /^blocks of f32 are read back unchanged/,
    plant: withKv((right) => ({
      read: (from, first, count, bytes) =>
        right.read(from, first, 1, bytes.subarray(0, bytes.length / count)),
    })),
  },
  'blocks are copied in the layout of the device': {
    suite: 'caches',
    caughtBy: /^a token lies in its place/,
    plant: (driver) => headsFirst(driver, false),
  },
  'caches in an own layout are not zeroed': {
    suite: 'caches',
    caughtBy: /^a cache of i8 starts zeroed/,
    plant: withKv((right) => {
      const freed: DriverBuffer[] = [];
      return { allocate: (spec) => freed[freed.push(freed[0] ?? right.allocate(spec)) - 1]! };
    }),
  },
  'an int8 cache loses its scales': {
    suite: 'kvQuant',
    caughtBy: /^kvAppend: int8/,
    plant: afterwards('kvAppend', (_, { vCache }) => {
      const cache = memory(vCache);
      const width = cache.shape[3]!;
      if (cache.dtype !== 'i8') return;
      elements(cache).forEach((_, i, all) => {
        if (i % width >= width - scaleBytes) all[i] = 0;
      });
    }),
  },
  'an fp8 cache is rounded toward zero': {
    suite: 'kvQuant',
    caughtBy: /^kvAppend: fp8/,
    plant: afterwards('kvAppend', (_, { vCache }) => {
      const cache = memory(vCache);
      const width = cache.shape[3]!;
      if (cache.dtype !== 'u8') return;
      elements(cache).forEach((bits, i, all) => {
        if (i % width < width - scaleBytes && (bits & 0x7f) > 0x40) all[i] = bits - 1;
      });
    }),
  },
  'a group is declared without collective ops': {
    suite: 'manifest',
    caughtBy: /^a backend can be made of the driver/,
    plant: (driver) => ({
      ...driver,
      capabilities: { ...driver.capabilities, collective: { worldSize: 2, rank: 0 } },
    }),
  },
  'an empty name': refusedDriver((driver) => ({ ...driver, name: '' })),
  'a profile of an unknown kind': refusedDriver((driver) => withProfile(driver, { kind: 'tpu' })),
  'a profile with a NaN': refusedDriver((driver) => withProfile(driver, { flops: Number.NaN })),
  'a profile without bandwidth': refusedDriver((driver) => withProfile(driver, { readBandwidth: 0 })),
  'an unknown capability': refusedDriver((driver) => ({
    ...driver,
    capabilities: { ...driver.capabilities, ...{ warp: true } },
  })),
  'free memory is not a number': {
    suite: 'memory',
    caughtBy: /^free memory/,
    plant: (driver) => ({ ...driver, freeMemory: () => Number.NaN }),
  },
  'all buffers have the same id': {
    suite: 'memory',
    caughtBy: /^live buffers and weights/,
    plant: withMemory((right) => ({ allocate: (bytes) => ({ ...right.allocate(bytes), id: 7 }) })),
  },
  'a weight works only in the ops of its `uses`': {
    suite: 'weights',
    caughtBy: /^uses \[embed\] are a hint/,
    plant: (driver) => {
      const tables = new Set<unknown>();
      return {
        ...driver,
        async loadWeight(source) {
          const weight = await driver.loadWeight(source);
          if (source.uses?.join() === 'embed') tables.add(weight);
          return weight;
        },
        kernels: {
          ...driver.kernels,
          linear: async (given, own, outputs) => {
            await driver.kernels.linear(given, own, outputs);
            if (tables.has((given.w as KernelWeight).weight)) floatsOf(outputs[0]!).fill(0);
          },
        },
      };
    },
  },
  'a weight has byteLength 0': {
    suite: 'weights',
    caughtBy: /^byteLength of f32/,
    plant: (driver) => ({
      ...driver,
      loadWeight: async (source) => ({ ...(await driver.loadWeight(source)), byteLength: 0 }),
    }),
  },
  'freed buffers leak': {
    suite: 'leaks',
    caughtBy: /^a cache is freed/,
    plant: withMemory((right) => ({ allocate: (bytes) => held(right.allocate(bytes)) })),
  },
  'freed weights leak': {
    suite: 'leaks',
    caughtBy: /^a weight is freed/,
    plant: (driver) => ({
      ...driver,
      loadWeight: async (source) => held(await driver.loadWeight(source)),
    }),
  },
  'memory of a disposed driver leaks': {
    suite: 'leaks',
    caughtBy: /^a backend frees/,
    plant: withMemory((right) => {
      const own = new Set<HostBuffer>();
      held(own);
      return {
        allocate(bytes) {
          const buffer = right.allocate(bytes);
          own.add(buffer);
          return buffer;
        },
        free: (buffer) => void own.delete(buffer),
      };
    }),
  },
  'loads wait until all plans have ended': {
    suite: 'concurrency',
    caughtBy: /^a load waits for one plan/,
    plant: (driver) => {
      let products = 0;
      const linear: Kernel = (...call) => {
        products++;
        return driver.kernels.linear(...call);
      };
      return {
        ...driver,
        kernels: { ...driver.kernels, linear },
        async loadWeight(source) {
          for (let idle = 0, seen = products; idle < 100; idle++, seen = products) {
            await new Promise((resolve) => setImmediate(resolve));
            if (products !== seen) idle = 0;
          }
          return driver.loadWeight(source);
        },
      };
    },
  },
  'a load overwrites the running plan': {
    suite: 'concurrency',
    caughtBy: /^weights load while/,
    plant: (driver) => {
      let [loading, products] = [0, 0];
      const linear: Kernel = async (...call) => {
        await driver.kernels.linear(...call);
        if (loading > 0) floatsOf(call[2][0]!).fill(0);
        products++;
      };
      /** Until a running plan has had a product; the first loads meet no plan. */
      const untilProduct = async () => {
        const [before, end] = [products, performance.now() + 300];
        while (products === before && performance.now() < end)
          await new Promise((resolve) => setImmediate(resolve));
      };
      return {
        ...driver,
        kernels: { ...driver.kernels, linear },
        async loadWeight(source) {
          loading++;
          await untilProduct();
          loading--;
          return driver.loadWeight(source);
        },
      };
    },
  },
  'allocate blocks the event loop': {
    suite: 'concurrency',
    caughtBy: /^allocate and free return at once/,
    plant: withMemory((right) => ({
      allocate(bytes) {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30);
        return right.allocate(bytes);
      },
    })),
  },
  'times are always 0': {
    suite: 'timer',
    caughtBy: /^work takes time/,
    plant: (driver) => planDriver(driver, { timer: () => 0 }),
  },
  'times are microseconds': {
    suite: 'timer',
    caughtBy: /^work takes time/,
    plant: (driver) => planDriver(driver, { timer: (milliseconds) => 1000 * milliseconds }),
  },
  'words of a plan are not checked': {
    suite: 'words',
    caughtBy: /^an output of another shape/,
    plant: (driver) => planDriver(driver),
  },
  'rows of an operand have the row length of the first operand, if the counts agree': {
    suite: 'words',
    caughtBy: /^add: as many elements in other shapes/,
    plant: countingDriver('add', 'a'),
  },
  'the row length of a mask is used for the logits': {
    suite: 'words',
    caughtBy: /^maskLogits: as many elements in other shapes/,
    plant: countingDriver('maskLogits', 'x'),
  },
  'host memory is reused without zeroing': {
    suite: 'memory',
    caughtBy: /^host memory has the requested bytes/,
    plant: (driver) => {
      const pages = new Map<number, ArrayBuffer>();
      const hostMemory = (byteLength: number) => {
        const page = pages.get(byteLength) ?? new ArrayBuffer(byteLength);
        pages.set(byteLength, page);
        return page;
      };
      return planDriver(driver, { hostMemory });
    },
  },
  'a too large host memory gives an error without a code': {
    suite: 'memory',
    caughtBy: /^host memory larger than any/,
    plant: (driver) => planDriver(driver, { hostMemory: (byteLength) => new ArrayBuffer(byteLength) }),
  },
  'a failing op is flagged as its neighbour': {
    suite: 'errors',
    caughtBy: /^an op that goes wrong is named/,
    plant: (driver) => planDriver(driver, { flagged: (op) => Math.max(0, op - 1) }),
  },
  'a failing op is not named': {
    suite: 'errors',
    caughtBy: /^an op that goes wrong is named/,
    plant: (driver) => planDriver(driver, { memoryOf: (_, io) => ({ ...io, fault: new Int32Array(2) }) }),
  },
  'temporaries overlap operands that their ops still read': {
    suite: 'plans',
    caughtBy: /^random plan/,
    plant: (driver) => planDriver(driver, { mayShare: (a, b) => a.last <= b.first || b.last <= a.first }),
  },
  'plans with equal keys use the host memory of the first': {
    suite: 'steps',
    caughtBy: /^equal steps/,
    plant: (driver) => {
      const first = new Map<string, PlanIo>();
      return planDriver(driver, {
        memoryOf({ key }, io) {
          if (!first.has(key)) first.set(key, io);
          return first.get(key)!;
        },
      });
    },
  },
  'a product claims to round its operand but does not': {
    suite: 'bf16',
    caughtBy: /^linear: x as bf16, with bf16/,
    plant: (driver) => {
      const { manifest } = roundingDriver();
      return { ...driver, manifest };
    },
  },
  'a temporary is truncated to bf16, not rounded': {
    suite: 'bf16',
    caughtBy: /^silu: outputs as bf16/,
    plant: () => {
      const right = roundingDriver();
      const silu: Kernel = async (given, own, [y]) => {
        const wide = replaced(
          {
            ...y!,
            dtype: 'f32',
            buffer: { id: -1, bytes: new ArrayBuffer(4 * elementCount(y!.shape)) } as HostBuffer,
            byteOffset: 0,
          },
          () => 0,
        );
        await right.kernels.silu(given, own, [wide]);
        const values = floatsOf(wide);
        if (y!.dtype === 'f32') floatsOf(y!).set(values);
        else elements(y!).set(Uint16Array.from(new Uint32Array(values.buffer), (word) => word >>> 16));
      };
      return { ...right, kernels: { ...right.kernels, silu } };
    },
  },
  'a temporary in bf16 is read as if it were f32': {
    suite: 'bf16',
    caughtBy: /^linear: x as bf16/,
    plant: () => {
      const right = roundingDriver();
      const linear: Kernel = (given, ...rest) =>
        right.kernels.linear({ ...given, x: { ...memory(given.x), dtype: 'f32' } }, ...rest);
      return { ...right, kernels: { ...right.kernels, linear } };
    },
  },
  "profile.abort is 'op', but the abort word is read every 64 ops": {
    suite: 'abort',
    caughtBy: /^a signal while a step of 24 ops/,
    plant: abortingDriver('op', (op) => op % 64 === 0),
  },
  "profile.abort is 'segment', but segments have 2000 ops": {
    suite: 'abort',
    caughtBy: /^a signal while a step of 1000 ops/,
    plant: abortingDriver('segment', (op) => op % 2000 === 0),
  },
  "profile.abort is 'op', but the abort word is never read": {
    suite: 'abort',
    caughtBy: /^a signal while a step of 24 ops/,
    plant: abortingDriver('op', () => false),
  },
  "profile.abort is 'step', but a step ends before any op": {
    suite: 'abort',
    caughtBy: /^a signal while a step runs to its end/,
    plant: abortingDriver('step', () => true),
  },
  "profile.abort is 'step', but a step ends between segments of 200 ops": {
    suite: 'abort',
    caughtBy: /^a signal while a step runs to its end/,
    plant: abortingDriver('step', (op) => op % 200 === 0),
  },
  'captured plans leak': {
    suite: 'leaks',
    caughtBy: /^a captured plan is freed/,
    plant: (driver) => planDriver(driver, { keepCaptured: held }),
  },
  'a kernel with a misspelt name': refusedDriver((driver) => ({
    ...driver,
    kernels: { ...driver.kernels, ...{ silo() {} } },
  })),
  'a misspelt property of the profile': misspelt((driver) => withProfile(driver, { exactRow: 8 })),
  'a misspelt part of the manifest': misspelt((driver) => ({
    ...driver,
    manifest: { ...driver.manifest, ...{ fuzed: {} } },
  })),
  'a misspelt element type in a claim': misspelt((driver) => claiming(driver, { dtypes: ['f32', 'fp16'] })),
  'a misspelt part of a claim': misspelt((driver) => claiming(driver, { cacheDtype: ['f32'] })),
  'an element type that no cache has': misspelt((driver) =>
    claiming(driver, { cacheDtypes: [...cacheDtypes, 'i32'] }),
  ),
  'a format that no weight can have': misspelt((driver) =>
    claiming({ ...driver, capabilities: {} }, { weightFormats: [...denseFormats, 'q4k'] }),
  ),
  'a core op is missing from the manifest': {
    suite: 'manifest',
    caughtBy: /^a backend can be made of the driver/,
    plant: (driver) => {
      const { linear: _, ...ops } = driver.manifest.ops;
      return { ...driver, manifest: { ...driver.manifest, ops: ops as KernelDriver['manifest']['ops'] } };
    },
  },
};

const faults = { ...kernelFaults, ...rowFaults, ...contractFaults };

/** Only the cases that must see the fault; without the fault the whole kit passes (kit.all.test.ts). */
const near = ({ suite, caughtBy }: Fault) => ({ suites: [suite], cases: caughtBy });

describe('the kit finds', () => {
  for (const [name, fault] of Object.entries(faults))
    test(name, async () => {
      const createDriver = () => fault.plant(richDriver());
      const report = await runConformance({ createDriver, codecs: [toyCodec], only: near(fault) });
      const failed = report.results.filter(({ status }) => status === 'failed').map((result) => result.name);
      expect({ failed, report: formatReport(report) }).toEqual({
        failed: expect.arrayContaining([expect.stringMatching(fault.caughtBy)]),
        report: expect.any(String),
      });
    }, 120_000);
});

test('a capability without a suite is a failure', async () => {
  const [driver] = referenceGroup(2);
  const lab = await Lab.start({ createDriver: () => driver! });
  const [only] = undeclared(lab).filter((one) => 'run' in one);
  await expect((only as RunnableCase).run(lab)).rejects.toThrow('give the kit `createGroup`');
  lab.dispose();
});

test('a format without its codec is a failure', async () => {
  const report = await runConformance({ createDriver: richDriver, only: { suites: ['quantGguf'] } });
  expect(report).toMatchObject({ passed: 0, failed: 1 });
  expect(report.results[0]!.message).toContain('no codec');
});
