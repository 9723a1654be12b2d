import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/**
 * Counts the calls from JavaScript into backend-cpu's addon: its class is replaced by one whose objects count before they
 * pass a call on. Call it before a backend is created. Returns the counts by method.
 */
export function countCrossings() {
  const path = fileURLToPath(
    new URL('../../packages/backend-cpu/build/Release/backend_cpu.node', import.meta.url),
  );
  const addon = createRequire(import.meta.url)(path);
  const counts = {};
  const counted = (object) =>
    new Proxy(object, {
      get(target, name) {
        const member = Reflect.get(target, name, target);
        if (typeof member !== 'function') return member;
        return (...values) => {
          counts[name] = (counts[name] ?? 0) + 1;
          return member.apply(target, values);
        };
      },
    });
  addon.NativeBackend = new Proxy(addon.NativeBackend, {
    construct: (Native, values) => counted(new Native(...values)),
  });
  return counts;
}
