/** The acts of one signal, and its single listener. */
interface Listening {
  readonly acts: Set<() => void>;
  listener(): void;
}

const listenings = new WeakMap<AbortSignal, Listening>();

/**
 * Calls `act` when `signal` aborts; the signal has not aborted yet. All calls with the same signal share one listener,
 * because Node reports the eleventh listener as a leak. Returns a function that cancels the call.
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  const listening = listenings.get(signal) ?? listen(signal);
  const own = () => act(); // the same act may come twice
  listening.acts.add(own);
  return () => {
    listening.acts.delete(own);
    if (listening.acts.size > 0 || listenings.get(signal) !== listening) return;
    signal.removeEventListener('abort', listening.listener);
    listenings.delete(signal);
  };
}

function listen(signal: AbortSignal): Listening {
  const acts = new Set<() => void>();
  const listener = () => {
    for (const act of [...acts]) if (acts.has(act)) act();
  };
  const listening = { acts, listener };
  signal.addEventListener('abort', listener, { once: true });
  listenings.set(signal, listening);
  return listening;
}
