import { useState } from 'preact/hooks'
import { deleteDistributionKey, deleteDistributionKeys, type Distribution, type Key } from '#api/channels.ts'
import { call } from '../../api/call.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Notice } from '../../parts/notice.tsx'
import { toast } from '../../parts/toast.tsx'
import { canChange } from '../../session.ts'
import { channelWords } from '../../words/channelWords.ts'
import { words } from '../../words/words.ts'
import { NewKey } from './newKey.tsx'
import { SignToken } from './signToken.tsx'

const text = channelWords.viewerKeys
/** A distribution has at most this many: the one that signs, and the one before or after it. */
const KEYS_MOST = 2

/** What a dialog is about. */
type Question =
  | { readonly kind: 'new' }
  | { readonly kind: 'open' }
  | { readonly kind: 'sign' | 'replace' | 'delete'; readonly of: Key }
  | null

const nameOf = ({ id, name }: Key): string => name ?? id

interface ViewerKeysProps {
  readonly distribution: Distribution
  readonly onChanged: () => Promise<void>
}

/** The keys that sign tokens of viewers. Sluice never shows their values. */
export function ViewerKeys({ distribution, onChanged }: ViewerKeysProps) {
  const { name, security } = distribution
  const { keys, tokenRequired } = security
  const [question, setQuestion] = useState<Question>(null)
  return (
    <div class="stack gap-s">
      <span class="label">{text.title}</span>
      {tokenRequired && keys.length === 0 && <Notice kind="warn">{text.closed}</Notice>}
      {keys.length > 0 && (
        <ul class="rows viewer-keys">
          {keys.map((key) => (
            <li key={key.id}>
              <Icon name="locked" />
              <div class="grow">
                <b>{nameOf(key)}</b>
                {key.name && (
                  <p>
                    <code>{key.id}</code>
                  </p>
                )}
              </div>
              {canChange() && <KeyMenu keyRecord={key} isFull={keys.length >= KEYS_MOST} ask={setQuestion} />}
            </li>
          ))}
        </ul>
      )}
      {canChange() && (
        <div class="actions">
          {keys.length < KEYS_MOST && (
            <Button size="small" icon="plus" of={name} onClick={() => setQuestion({ kind: 'new' })}>
              {text.add}
            </Button>
          )}
          {tokenRequired && (
            <Button size="small" look="danger" icon="unlocked" of={name} onClick={() => setQuestion({ kind: 'open' })}>
              {text.open}
            </Button>
          )}
        </div>
      )}
      {question && (
        <Dialogs
          distribution={distribution}
          question={question}
          onChanged={onChanged}
          onClose={() => setQuestion(null)}
        />
      )}
    </div>
  )
}

function KeyMenu(props: {
  readonly keyRecord: Key
  /** There is no room for a successor until one key is deleted. */
  readonly isFull: boolean
  readonly ask: (question: Question) => void
}) {
  const { keyRecord: of, isFull, ask } = props
  const sign = { icon: 'tokens' as const, text: text.sign.item, onSelect: () => ask({ kind: 'sign', of }) }
  const replace = { icon: 'refresh' as const, text: text.replace, onSelect: () => ask({ kind: 'replace', of }) }
  const remove = {
    icon: 'trash' as const,
    text: text.delete,
    isDanger: true,
    onSelect: () => ask({ kind: 'delete', of }),
  }
  return <Menu label={words.parts.moreFor(nameOf(of))} items={isFull ? [sign, remove] : [sign, replace, remove]} />
}

interface DialogsProps extends ViewerKeysProps {
  readonly question: NonNullable<Question>
  readonly onClose: () => void
}

function Dialogs({ distribution, question, onChanged, onClose }: DialogsProps) {
  const path = { distributionId: distribution.id }
  if (question.kind === 'new') return <NewKey path={path} replaced={null} onMade={onChanged} onClose={onClose} />
  if (question.kind === 'open') {
    const open = async (): Promise<void> => {
      await call(deleteDistributionKeys, { path })
      toast(text.opened(distribution.name))
      await onChanged()
    }
    return (
      <Confirm title={text.openTitle(distribution.name)} verb={text.open} onConfirm={open} onClose={onClose}>
        {text.openText}
      </Confirm>
    )
  }
  const { kind, of } = question
  if (kind === 'sign') return <SignToken distribution={distribution} keyRecord={of} onClose={onClose} />
  if (kind === 'replace') return <NewKey path={path} replaced={of} onMade={onChanged} onClose={onClose} />
  const remove = async (): Promise<void> => {
    await call(deleteDistributionKey, { path: { ...path, keyId: of.id } })
    toast(text.deleted(nameOf(of)))
    await onChanged()
  }
  const isLast = distribution.security.keys.length === 1
  return (
    <Confirm title={text.deleteTitle(nameOf(of))} verb={text.delete} onConfirm={remove} onClose={onClose}>
      {isLast ? text.deleteLastText : text.deleteText}
    </Confirm>
  )
}
