import { EmulatedRegExp, toRegExp, toRegExpDetails } from 'oniguruma-to-es';

/**
 * An expression of Oniguruma as a JavaScript expression, with the flag u where it can say all of it, else with the flag
 * v. In V8 (Node 20, 22) the flag v has faults: a class `[^…]` loses its negation in a group that repeats lazily or a
 * counted number of times, and `[^]+` ends after one character. So no class is negated there.
 * @throws Error for what cannot be translated
 */
export function compiled(source: string): RegExp {
  try {
    return toRegExp(source, { global: true, target: 'ES2018', accuracy: 'strict' });
  } catch {
    const { pattern, flags, options } = toRegExpDetails(source, { global: true, target: 'ES2024' });
    return new EmulatedRegExp(withoutNegation(pattern), flags, options);
  }
}

/** "[^a]" becomes "(?:(?![a])\\p{Any})". */
function withoutNegation(pattern: string): string {
  let depth = 0;
  const negated: boolean[] = [];
  return pattern.replace(/\\(?:[pPu]\{[^}]*\}|.)|\[\^\]|\[\^?|\]/gs, (token) => {
    if (token === '[^]' && depth === 0) return '\\p{Any}';
    if (token.startsWith('[')) return open(token, depth++, negated);
    if (token !== ']' || depth === 0) return token;
    depth--;
    return negated.pop() ? '])\\p{Any})' : ']';
  });
}

function open(token: string, depth: number, negated: boolean[]): string {
  const isNegated = depth === 0 && token === '[^';
  negated.push(isNegated);
  return isNegated ? '(?:(?![' : token;
}
