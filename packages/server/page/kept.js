// Small values that the browser keeps. Browsers may refuse to keep any: then they last until the page is closed.

const inMemory = new Map();

/** @param place 'localStorage' or 'sessionStorage' */
export function kept(name, place = 'localStorage') {
  try {
    return window[place].getItem(name);
  } catch {
    return inMemory.get(name) ?? null;
  }
}

export function keep(name, value, place = 'localStorage') {
  inMemory.set(name, value);
  try {
    window[place].setItem(name, value);
  } catch {
    // refused, or full
  }
}
