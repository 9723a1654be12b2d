import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Replaces backend-cpu's addon class: its objects pass every method call to `call(name, method)`. Call before creating
 * a backend.
 */
function intercept(call) {
  const path = fileURLToPath(
    new URL('../../packages/backend-cpu/build/Release/backend_cpu.node', import.meta.url),
  );
  const addon = createRequire(import.meta.url)(path);
  const Original = addon.NativeBackend;
  const wrapped = (object) =>
    new Proxy(object, {
      get(target, name) {
        const member = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return (...values) => call(name, () => member.apply(target, values));
      },
    });
  addon.NativeBackend = new Proxy(Original, {
    construct: (Native, values) => wrapped(new Native(...values)),
  });
  return () => {
    addon.NativeBackend = Original;
  };
}

/** Counts calls from JavaScript into the addon, by method. `restore` stops counting. */
export function countCrossings() {
  const counts = {};
  const restore = intercept((name, method) => {
    counts[name] = (counts[name] ?? 0) + 1;
    return method();
  });
  return { counts, restore };
}

/**
 * Times JavaScript between two replays (or chains): from the first microtask after the promise resolves to the next
 * call, minus the growth of `apart()`. Returns the sections in ms, each with the number of tokens of the replay.
 * `restore` stops timing.
 */
export function timeSections(apart) {
  const sections = [];
  let last;
  const restore = intercept((name, method) => {
    if (name !== 'replay' && name !== 'replayChain') return method();
    if (last)
      sections.push({ ms: performance.now() - last.resolved - (apart() - last.apart), tokens: last.tokens });
    const promise = method();
    promise.then((replays) => {
      last = { resolved: performance.now(), apart: apart(), tokens: replays ?? 1 };
    });
    return promise;
  });
  return { sections, restore };
}
