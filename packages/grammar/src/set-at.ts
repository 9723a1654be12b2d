/** Sets an element without holes before it: JavaScript makes dictionaries of arrays with many holes, which takes long. */
export function setAt<T>(array: (T | undefined)[], at: number, value: T): void {
  while (array.length < at) array.push(undefined);
  array[at] = value;
}
