/** What happens when a signal aborts, and the one listener that it has for all of it. */
interface Listening {
  readonly acts: Set<() => void>;
  listener(): void;
}

const listenings = new WeakMap<AbortSignal, Listening>();

/**
 * Calls `act` when a signal aborts that has not aborted yet. However many calls share a signal, it has one listener: Node
 * takes the eleventh for a leak. Returns what ends it.
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
