// Elements are made by these functions, never from markup: pages may require Trusted Types.

type Attributes = Readonly<Record<string, string | boolean>>

function apply(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false) continue
    element.setAttribute(name, value === true ? '' : value)
  }
}

/** An HTML element. `true` is an attribute without a value, `false` none. */
export function html<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  apply(element, attributes)
  element.append(...children)
  return element
}

/** An icon: the outline of 24 by 24 units. */
export function icon(path: string): SVGSVGElement {
  const root = document.createElementNS('http://www.w3.org/2000/svg', 'svg')
  apply(root, { viewBox: '0 0 24 24', 'aria-hidden': 'true' })
  const outline = document.createElementNS('http://www.w3.org/2000/svg', 'path')
  apply(outline, { d: path })
  root.append(outline)
  return root
}

/** Shows a text only if it differs: screen readers announce every change. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text
}
