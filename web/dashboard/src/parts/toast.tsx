import { asApiError } from '../api/call.ts'
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { words } from '../words/words.ts'
import './toast.css'

interface Toast {
  readonly id: number
  readonly text: string
  readonly undo?: () => void
}

const SHOWN_MS = 8000
const MOST = 3
const toasts = signal<readonly Toast[]>([])
let count = 0

/** Says what was done. `undo` takes it back. */
export function toast(text: string, undo?: () => void): void {
  const id = (count += 1)
  toasts.value = [...toasts.value.slice(1 - MOST), { id, text, ...(undo ? { undo } : {}) }]
}

/** Awaits a change that stands in no form. A toast says why it was refused. */
export async function orToast(change: Promise<void>): Promise<void> {
  try {
    await change
  } catch (error) {
    toast(asApiError(error).message)
  }
}

const remove = (id: number): void => {
  toasts.value = toasts.value.filter((one) => one.id !== id)
}

function ToastLine({ id, text, undo }: Toast) {
  const [isHeld, setHeld] = useState(false)
  useEffect(() => {
    if (isHeld) return undefined
    const timer = setTimeout(() => remove(id), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [isHeld])
  const onUndo = (): void => {
    undo?.()
    remove(id)
  }
  return (
    <div class="toast" onPointerEnter={() => setHeld(true)} onPointerLeave={() => setHeld(false)}>
      {text}
      {undo && (
        <button class="btn small" type="button" onClick={onUndo}>
          {words.parts.undo}
        </button>
      )}
    </div>
  )
}

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map((one) => (
        <ToastLine key={one.id} {...one} />
      ))}
    </div>
  )
}
