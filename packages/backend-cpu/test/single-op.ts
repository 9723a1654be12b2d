// Runs one op on the driver itself, with a handwritten plan: tests the addon without core.
import {
  type AnyOp,
  coreOps,
  type DType,
  dtypeBytes,
  type EncodedPlan,
  elementCount,
  encodePlan,
  f32ToBf16,
  f32ToF16,
  fusedOps,
  type HostArray,
  hostArray,
  type PlanDriver,
  type PlanIo,
  type Sample,
  type SampleOperand,
} from '@quern/core';

type PlanOp = Parameters<typeof encodePlan>[0][number];
type PlanOperand = NonNullable<PlanOp['operands'][number]>;
type TensorOperand = PlanOp['outputs'][number];
type Layout = Parameters<typeof encodePlan>[1];

export const allOps: Readonly<Record<string, AnyOp>> = { ...coreOps, ...fusedOps };

const narrow = { f16: f32ToF16, bf16: f32ToBf16 };
const isHalf = (dtype: string): dtype is 'f16' | 'bf16' => dtype === 'f16' || dtype === 'bf16';

/** An operand of a sample. In a block format: with its bytes. */
export interface GivenOperand extends SampleOperand {
  readonly bytes?: Uint8Array;
}

/** The bytes of a sample's values in its format. */
export function bytesOf({
  values,
  format,
  bytes,
}: Pick<GivenOperand, 'values' | 'format' | 'bytes'>): Uint8Array {
  if (bytes) return bytes;
  const array = isHalf(format)
    ? Uint16Array.from(values, narrow[format])
    : format === 'i32'
      ? Int32Array.from(values)
      : new Float32Array(values);
  return new Uint8Array(array.buffer);
}

const align = (bytes: number) => Math.ceil(bytes / 64) * 64;

/** One region of host memory, filled tensor by tensor. */
class Region {
  readonly places = new Map<
    TensorOperand['storage'],
    { region: 'inputs' | 'outputs'; byteOffset: number; bf16: false }
  >();
  byteLength = 0;

  constructor(private readonly region: 'inputs' | 'outputs') {}

  add(shape: readonly number[], dtype: DType): TensorOperand {
    const byteLength = elementCount(shape) * dtypeBytes[dtype];
    const storage = { id: this.byteLength, byteLength, isInput: this.region === 'inputs', kept: true };
    this.places.set(storage, { region: this.region, byteOffset: this.byteLength, bf16: false });
    this.byteLength += align(byteLength);
    return { kind: 'tensor', shape, dtype, storage, byteOffset: 0 };
  }
}

/** A plan of one op, ready to execute. */
export interface SingleOp {
  readonly plan: EncodedPlan;
  readonly io: PlanIo;
  /** Values, after a run, of the outputs and of the buffers that the op writes. */
  results(): Promise<HostArray[]>;
}

/** Loads the operands of a sample and encodes its op `repeat` times. */
export async function prepare(driver: PlanDriver, op: AnyOp, sample: Sample, repeat = 1): Promise<SingleOp> {
  const inputs = new Region('inputs');
  const outputs = new Region('outputs');
  const filled: { tensor: TensorOperand; bytes: Uint8Array }[] = [];
  const written: PlanOperand[] = [];

  const place = async (name: string): Promise<PlanOperand | undefined> => {
    const value = sample.operands[name];
    const rule = op.operands[name]!;
    if (!value) return undefined;
    const { shape, format } = value;
    const bytes = bytesOf(value);
    if (rule.kind === 'weight')
      return {
        kind: 'weight',
        name,
        shape,
        format,
        handle: await driver.loadWeight({ name, shape, format, bytes }),
      };
    const dtype = format as DType;
    if (rule.kind === 'tensor') {
      const tensor = inputs.add(shape, dtype);
      filled.push({ tensor, bytes });
      return tensor;
    }
    const handle = driver.memory.allocate(bytes.byteLength);
    await driver.memory.write(handle, 0, bytes);
    const buffer: PlanOperand = { kind: 'buffer', shape, dtype, handle };
    if (rule.written) written.push(buffer);
    return buffer;
  };

  const operands: PlanOp['operands'][number][] = [];
  for (const name of Object.keys(op.operands)) operands.push(await place(name));
  const specs = Object.fromEntries(
    Object.entries(sample.operands).map(([name, { shape, format }]) => [name, { shape, dtype: format }]),
  );
  const results = op.infer(specs, sample.attributes).map(({ shape, dtype }) => outputs.add(shape, dtype));
  const attributes = Object.keys(op.attributes).map((name) => sample.attributes[name]!);
  const layout: Layout = {
    places: new Map([...inputs.places, ...outputs.places]),
    arenaBytes: 0,
    inputsBytes: inputs.byteLength,
    outputsBytes: outputs.byteLength,
  };
  const io: PlanIo = {
    inputs: new ArrayBuffer(inputs.byteLength),
    outputs: new ArrayBuffer(outputs.byteLength),
    control: new Int32Array(new SharedArrayBuffer(4)),
    fault: new Int32Array(new SharedArrayBuffer(8)),
  };
  for (const { tensor, bytes } of filled)
    new Uint8Array(io.inputs).set(bytes, inputs.places.get(tensor.storage)!.byteOffset);
  return {
    plan: encodePlan(Array<PlanOp>(repeat).fill({ op, operands, attributes, outputs: results }), layout),
    io,
    async results() {
      const arrays = results.map(({ storage, dtype, shape }) =>
        hostArray(dtype, io.outputs, outputs.places.get(storage)!.byteOffset, elementCount(shape)),
      );
      for (const buffer of written) {
        if (buffer.kind !== 'buffer') continue;
        const bytes = new Uint8Array(elementCount(buffer.shape) * dtypeBytes[buffer.dtype]);
        await driver.memory.read(buffer.handle, 0, bytes);
        arrays.push(hostArray(buffer.dtype, bytes.buffer, 0, elementCount(buffer.shape)));
      }
      return arrays;
    },
  };
}

/** Runs a sample. Returns the values computed. */
export async function runSample(driver: PlanDriver, op: AnyOp, sample: Sample): Promise<HostArray[]> {
  const single = await prepare(driver, op, sample);
  await driver.executor.execute(single.plan, single.io);
  return single.results();
}
