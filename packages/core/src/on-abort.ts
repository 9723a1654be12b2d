/** The acts of one signal, and its single listener. */
interface Listener {
  readonly acts: Set<() => void>;
  listener(): void;
}

const listeners = new WeakMap<AbortSignal, Listener>();

/**
 * Calls `act` when `signal` aborts; the signal has not aborted yet. All calls with the same signal share one listener,
 * because Node reports the eleventh listener as a leak. Returns a function that cancels the call.
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  const shared = listeners.get(signal) ?? listen(signal);
  const own = () => act(); // the same act may come twice
  shared.acts.add(own);
  return () => {
    shared.acts.delete(own);
    if (shared.acts.size > 0 || listeners.get(signal) !== shared) return;
    signal.removeEventListener('abort', shared.listener);
    listeners.delete(signal);
  };
}

function listen(signal: AbortSignal): Listener {
  const acts = new Set<() => void>();
  const listener = () => {
    for (const act of [...acts]) if (acts.has(act)) act();
  };
  const shared = { acts, listener };
  signal.addEventListener('abort', listener, { once: true });
  listeners.set(signal, shared);
  return shared;
}
