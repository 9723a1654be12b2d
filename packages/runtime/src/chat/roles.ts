/** Roles that messages may have with every template. */
export const commonRoles = ['system', 'user', 'assistant', 'tool'] as const;

/** A comparison of a role in a template: `message.role == 'ipython'`, `message['role'] in ['developer', 'system']`. Bounded: linear in time. */
const compared =
  /\brole\b['"\])\s]{0,9}(?:==|!=|(?:not\s{1,9})?in\b)\s{0,9}(\[[^\]]{0,999}\]|\([^)]{0,999}\)|'[^']{0,99}'|"[^"]{0,99}")/g;

const quoted = /'([^']+)'|"([^"]+)"/g;

/** The common roles, and those that a template compares a role with. */
export function rolesOf(source: string): readonly string[] {
  const named = [...source.matchAll(compared)].flatMap(([, names = '']) =>
    [...names.matchAll(quoted)].map(([, single, double]) => single ?? double ?? ''),
  );
  return [...new Set([...commonRoles, ...named])];
}
