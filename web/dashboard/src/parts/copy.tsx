import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { words } from '../words/words.ts'
import { Button } from './button.tsx'
import { copyText } from './clipboard.ts'
import { useSubmit } from './form.tsx'
import { orToast } from './toast.tsx'
import './copy.css'

const text = words.parts
const DONE_MS = 2000

/** One button that copies a text. `what` names it for screen readers. */
export function CopyButton({ value, what }: { readonly value: string; readonly what: string }) {
  const [isDone, setDone] = useState(false)
  useEffect(() => {
    if (!isDone) return undefined
    const timer = setTimeout(() => setDone(false), DONE_MS)
    return () => clearTimeout(timer)
  }, [isDone])
  return (
    <Button
      icon={isDone ? 'check' : 'copy'}
      aria-label={isDone ? text.copiedThat(what) : text.copyThat(what)}
      onClick={() => orToast(copyText(value).then(() => setDone(true)))}
    >
      {isDone ? text.copied : text.copy}
    </Button>
  )
}

/** A text that is there to be copied. `isSecret`: covered until it is asked for. */
export function CopyField(props: {
  readonly label: ComponentChildren
  /** The label as plain text. */
  readonly what: string
  readonly value: string
  readonly isSecret?: boolean
}) {
  const { label, what, value, isSecret = false } = props
  const [isShown, setShown] = useState(!isSecret)
  return (
    <div class="field">
      <span class="label">{label}</span>
      <div class="copy">
        <code>{isShown ? value : '•'.repeat(24)}</code>
        {isSecret && (
          <Button
            icon="show"
            aria-label={isShown ? text.hideThat(what) : text.showThat(what)}
            onClick={() => setShown(!isShown)}
          >
            {isShown ? text.hide : text.show}
          </Button>
        )}
        <CopyButton value={value} what={what} />
      </div>
    </div>
  )
}

/** A secret that the page does not have until it is asked for; hiding it forgets it. */
export function AskedSecret({ label, ask }: { readonly label: string; readonly ask: () => Promise<string> }) {
  const [value, setValue] = useState<string | null>(null)
  const { isBusy, error, onSubmit } = useSubmit(async () => setValue(await ask()))
  return (
    <div class="field">
      <span class="label">{label}</span>
      <div class="copy">
        <code>{value ?? '•'.repeat(24)}</code>
        <Button
          icon="show"
          isBusy={isBusy}
          aria-label={value === null ? text.showThat(label) : text.hideThat(label)}
          onClick={() => (value === null ? onSubmit() : setValue(null))}
        >
          {value === null ? text.show : text.hide}
        </Button>
        {value !== null && <CopyButton value={value} what={label} />}
      </div>
      {error && <span class="err">{error.message}</span>}
    </div>
  )
}

interface CodeProps {
  readonly code: ComponentChildren
  /** Its name, as plain text. */
  readonly what: string
}

/** A block of code that keys can scroll. Only what has a role may have a name. */
export const Code = ({ code, what }: CodeProps) => (
  <pre tabIndex={0} role="group" aria-label={what}>
    <code>{code}</code>
  </pre>
)

/** A block of code or of commands with a copy button. */
export function CodeBlock({ code, what }: CodeProps & { readonly code: string }) {
  return (
    <div class="block">
      <Code code={code} what={what} />
      <CopyButton value={code} what={what} />
    </div>
  )
}
