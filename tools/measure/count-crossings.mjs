import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** Replaces backend-cpu's addon class by one whose objects hand every method call to `call(name, method)`. Comes before a backend is created. */
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

/** Counts the calls from JavaScript into the addon, by method. `restore` ends it. */
export function countCrossings() {
  const counts = {};
  const restore = intercept((name, method) => {
    counts[name] = (counts[name] ?? 0) + 1;
    return method();
  });
  return { counts, restore };
}

/**
 * Times what JavaScript does between two replays, or chains of them: from the first microtask after the promise is resolved
 * to the next call, less what `apart()` grew by. Gives the sections in ms, each with the tokens that the replays found.
 * `restore` ends it.
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
