/** Whether a part of a template uses a name. */
export function looksUp(part: unknown, name: string): boolean {
  if (typeof part !== 'object' || part === null) return false;
  if ('kind' in part && part.kind === 'name' && 'name' in part && part.name === name) return true;
  return Object.values(part).some((child) => looksUp(child, name));
}
