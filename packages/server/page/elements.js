/** A new element with text or children. */
export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

/** A button that does something. */
export const button = (textContent, act, properties = {}) =>
  element('button', { type: 'button', textContent, onclick: act, ...properties });

/** A box for what is wider than the page: it scrolls, by keys too. */
export const wideBox = (ariaLabel, ...children) =>
  element('div', { className: 'wide', tabIndex: 0, role: 'region', ariaLabel }, ...children);

/** A table with a head. */
export function table(head, rows) {
  const cells = (name, values) =>
    values.map((value) =>
      element(
        name,
        { className: typeof value === 'number' ? 'number' : '' },
        typeof value === 'number' ? value.toFixed(3) : value,
      ),
    );
  return element(
    'table',
    {},
    element('thead', {}, element('tr', {}, ...cells('th', head))),
    element('tbody', {}, ...rows.map((row) => element('tr', {}, ...cells('td', row)))),
  );
}
