/** The key by which copies of this module (ESM and CommonJS, two versions) recognise each other's errors. */
const classNames = Symbol.for('@quern/core/error');

/**
 * Base class of every error that Quern throws on purpose: a stable `code` for programs, a message for people. The
 * message says what went wrong, where, and what to do. It may change between releases; the code may not.
 *
 * `instanceof` also recognises errors of another copy of the package, by `className`. `name` is the class name; for the
 * code ABORTED it is 'AbortError', as in the DOM.
 */
export class QuernError<Code extends string = string> extends Error {
  /**
   * The same in every copy, even if a bundler shortens class names. A subclass without its own is recognised by
   * identity.
   */
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

/** By identity, or by `className` for an error of another copy. */
function isInstance(asked: typeof QuernError, value: unknown): boolean {
  if (Function.prototype[Symbol.hasInstance].call(asked, value)) return true;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(asked, 'className')) return false;
  const names: unknown = Reflect.get(value, classNames);
  return Array.isArray(names) && names.includes(asked.className);
}

/** `className` of a class and of its base classes. */
function namesOf(derived: object): string[] {
  const names: string[] = [];
  for (let each: unknown = derived; typeof each === 'function'; each = Object.getPrototypeOf(each))
    if (Object.hasOwn(each, 'className')) names.push(String(Reflect.get(each, 'className')));
  return names;
}

/** Stable codes of errors from a backend, a step or an op call. */
export type BackendErrorCode =
  | 'BAD_SHAPE' // an operand's shape does not fit the op
  | 'BAD_DTYPE' // an operand's element type does not fit the op
  | 'BAD_ARGUMENT' // any other argument out of its documented range
  | 'WRONG_STEP' // a tensor of another step or backend
  | 'STEP_FINISHED' // recording into or running a finished step
  | 'NOT_KEPT' // reading a tensor without step.keep
  | 'DISPOSED' // use after dispose
  | 'OUT_OF_MEMORY' // the device cannot give the bytes asked for
  | 'UNSUPPORTED' // this backend has no kernel or capability for it
  | 'WRONG_CONTRACT' // made with a version of @quern/core that does not fit this package
  | 'BAD_DRIVER' // a driver breaks its contract: a hole in the manifest, a missing kernel
  | 'BAD_WEIGHT' // a weight's file, offset, length or format is wrong
  | 'OUT_OF_RANGE' // an index out of range during a run: a token id, a slot, a block
  | 'ABORTED' // ended by an AbortSignal
  | 'DEVICE_FAILED'; // the device or its library reported a failure

/** Thrown by backends, steps and op calls. */
export class BackendError extends QuernError<BackendErrorCode> {
  static override readonly className: string = 'BackendError';
}
