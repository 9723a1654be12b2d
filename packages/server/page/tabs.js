// Views: arrow keys move between the tabs that are enabled.
const tabs = [...document.querySelectorAll('[role="tab"]')];

const enabled = () => tabs.filter((tab) => !tab.disabled);

function select(tab) {
  for (const each of tabs) {
    const isChosen = each === tab;
    each.setAttribute('aria-selected', String(isChosen));
    each.tabIndex = isChosen ? 0 : -1;
    document.getElementById(each.getAttribute('aria-controls')).hidden = !isChosen;
  }
  tab.focus();
}

/** Leaves a view that has become disabled. */
export function leaveDisabled() {
  const chosen = tabs.find((tab) => tab.getAttribute('aria-selected') === 'true');
  if (chosen.disabled) select(enabled()[0]);
}

for (const tab of tabs) {
  tab.addEventListener('click', () => select(tab));
  tab.addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const others = enabled();
    select(others[(others.indexOf(tab) + step + others.length) % others.length]);
  });
}
