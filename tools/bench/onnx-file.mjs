// Writes ONNX models: the messages of onnx.proto3 (https://github.com/onnx/onnx, IR version 8) that a graph needs, in
// protobuf's wire format. A message is a list of fields; a field is a number and an encoded value.

const varint = 0;
const lengthDelimited = 2;
const fixed32 = 5;

/** A varint: a non-negative integer, 7 bits per byte, lowest first. */
function varintBytes(value) {
  const bytes = [];
  let rest = BigInt(value);
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

const tagged = (number, wire, bytes) => Buffer.concat([varintBytes((number << 3) | wire), bytes]);
const integer = (number, value) => tagged(number, varint, varintBytes(value));
const bytesOf = (number, bytes) =>
  tagged(number, lengthDelimited, Buffer.concat([varintBytes(bytes.length), bytes]));
const text = (number, value) => bytesOf(number, Buffer.from(value));
const message = (number, fields) => bytesOf(number, Buffer.concat(fields));

function float(number, value) {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return tagged(number, fixed32, bytes);
}

/** TensorProto.DataType, and the JavaScript array of its elements. */
const types = {
  float: { id: 1, array: Float32Array },
  int8: { id: 3, array: Int8Array },
  int64: { id: 7, array: BigInt64Array },
};

/** AttributeProto: a float for these names, else an integer or a list of integers. */
const floatAttributes = new Set(['epsilon']);
function attribute([name, value]) {
  const fields = [text(1, name)];
  if (floatAttributes.has(name)) fields.push(float(2, value), integer(20, 1));
  else if (Array.isArray(value)) fields.push(...value.map((v) => integer(8, v)), integer(20, 7));
  else if (typeof value === 'string') fields.push(integer(3, types[value].id), integer(20, 2));
  else fields.push(integer(3, value < 0 ? BigInt.asUintN(64, BigInt(value)) : value), integer(20, 2));
  return message(5, fields);
}

/** ValueInfoProto: a number is a fixed dimension, a name is a variable one. */
function valueInfo(number, name, type, shape) {
  const dimensions = shape.map((d) => message(1, [typeof d === 'number' ? integer(1, d) : text(2, d)]));
  const tensor = message(1, [integer(1, types[type].id), message(2, dimensions)]);
  return message(number, [text(1, name), message(2, [tensor])]);
}

/** A graph, built op by op; results get unique names. */
export class OnnxGraph {
  #fields = [];
  #count = 0;

  #name(of) {
    return `${of}_${this.#count++}`;
  }

  /** A model input. */
  input(name, type, shape) {
    this.#fields.push(valueInfo(11, name, type, shape));
    return name;
  }

  /** A tensor stored in the file. */
  constant(type, shape, values) {
    const name = this.#name('constant');
    const { id, array } = types[type];
    const data = array.from(values);
    const raw = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    this.#fields.push(
      message(5, [...shape.map((d) => integer(1, d)), integer(2, id), text(8, name), bytesOf(9, raw)]),
    );
    return name;
  }

  /** Adds an op; returns its `outputs` results, or its only one. A string attribute is the name of a type. */
  op(type, inputs, attributes = {}, outputs = 1) {
    const names = Array.from({ length: outputs }, () => this.#name(type));
    this.#fields.push(
      message(1, [
        ...inputs.map((name) => text(1, name)),
        ...names.map((name) => text(2, name)),
        text(3, names[0]),
        text(4, type),
        ...Object.entries(attributes).map(attribute),
      ]),
    );
    return outputs === 1 ? names[0] : names;
  }

  /** The model file with `value` as output `name`. */
  file(value, name, type, shape) {
    const named = message(1, [text(1, value), text(2, name), text(3, name), text(4, 'Identity')]);
    const graph = message(7, [text(2, 'encoder'), ...this.#fields, named, valueInfo(12, name, type, shape)]);
    return Buffer.concat([
      integer(1, 8),
      text(2, 'quern-bench'),
      graph,
      message(8, [text(1, ''), integer(2, 17)]),
    ]);
  }
}
