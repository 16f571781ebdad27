import { words } from '../words/words.ts'

/**
 * Copies a text. Browsers give their clipboard to https and localhost alone, and may refuse it there; the older command does it then.
 * @throws what to do, where that is refused too
 */
export async function copyText(text: string): Promise<void> {
  const write = navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  )
  if (!(await write) && !copyByCommand(text)) throw new Error(words.parts.notCopied)
}

function copyByCommand(text: string): boolean {
  const before = document.activeElement
  // While a dialog is open, nothing outside of it takes the focus.
  const around = document.querySelector('dialog[open]') ?? document.body
  const area = Object.assign(document.createElement('textarea'), { className: 'sr', value: text })
  around.append(area)
  area.select()
  const isCopied = document.execCommand('copy')
  area.remove()
  if (before instanceof HTMLElement) before.focus()
  return isCopied
}
