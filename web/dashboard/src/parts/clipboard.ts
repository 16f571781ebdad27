/** Copies a text. Browsers give their clipboard to https and localhost alone; elsewhere the older command does it. */
export async function copyText(text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text)
  const before = document.activeElement
  // While a dialog is open, nothing outside of it takes the focus.
  const around = document.querySelector('dialog[open]') ?? document.body
  const area = Object.assign(document.createElement('textarea'), { className: 'sr', value: text })
  around.append(area)
  area.select()
  const isCopied = document.execCommand('copy')
  area.remove()
  if (before instanceof HTMLElement) before.focus()
  if (!isCopied) throw new Error('the browser copies nothing')
}
