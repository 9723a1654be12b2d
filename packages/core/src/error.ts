/** By it, copies of this module (ESM and CommonJS, two versions) know one another's errors. */
const classNames = Symbol.for('@quern/core/error');

/**
 * The base of every error Quern throws on purpose: a stable `code` for programs, a message for people.
 * The message says what went wrong, where, and what to do; it may change between releases, the code may not.
 *
 * `instanceof` also knows the errors of another copy of the package, by `className`. `name` is the class's, but 'AbortError'
 * for the code ABORTED, as that of the DOM's.
 */
export class QuernError<Code extends string = string> extends Error {
  /** The same in every copy, also where a bundler shortens the names of classes. A subclass that has none is known by identity. */
  static readonly className: string = 'QuernError';

  constructor(
    readonly code: Code,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = code === 'ABORTED' ? 'AbortError' : new.target.className;
    Object.defineProperty(this, classNames, { value: namesOf(new.target) });
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: the class that was asked for, which may be one below
    return isInstance(this, value);
  }
}

/** By identity, or as the error of another copy. */
function isInstance(asked: typeof QuernError, value: unknown): boolean {
  if (Function.prototype[Symbol.hasInstance].call(asked, value)) return true;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(asked, 'className')) return false;
  const names: unknown = Reflect.get(value, classNames);
  return Array.isArray(names) && names.includes(asked.className);
}

/** `className` of a class and of those above it. */
function namesOf(derived: object): string[] {
  const names: string[] = [];
  for (let each: unknown = derived; typeof each === 'function'; each = Object.getPrototypeOf(each))
    if (Object.hasOwn(each, 'className')) names.push(String(Reflect.get(each, 'className')));
  return names;
}

/** Stable codes of errors that come from a backend, a step or an op call. */
export type BackendErrorCode =
  | 'BAD_SHAPE' // an operand's shape does not fit the op
  | 'BAD_DTYPE' // an operand's element type does not fit the op
  | 'BAD_ARGUMENT' // any other argument out of its documented range
  | 'WRONG_STEP' // a tensor of another step, or of another backend
  | 'STEP_FINISHED' // recording into, or running, a step that has already run
  | 'NOT_KEPT' // reading a tensor that the plan did not keep
  | 'DISPOSED' // use after dispose
  | 'OUT_OF_MEMORY' // the device cannot give the bytes asked for
  | 'UNSUPPORTED' // this backend has no kernel or capability for it
  | 'WRONG_CONTRACT' // made with a version of @quern/core that another package does not work with
  | 'BAD_DRIVER' // a driver breaks its contract: a hole in the manifest, a missing kernel
  | 'BAD_WEIGHT' // a weight's file, offset, length or format is wrong
  | 'OUT_OF_RANGE' // an index found out of range while running: a token id, a slot, a block
  | 'ABORTED' // an AbortSignal ended it
  | 'DEVICE_FAILED'; // the device or its library reported a failure

/** Thrown by backends, steps and op calls. */
export class BackendError extends QuernError<BackendErrorCode> {
  static override readonly className: string = 'BackendError';
}
