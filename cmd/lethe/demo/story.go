package demo

import "fmt"

// What the user says. A summary keeps what was said first and last; the place of the key
// is neither, so that it is only in the original once the story has faded.
const (
	story = "We agreed: the lamp room of Skerry-Light and the logbook SL-1907 are in your hands now, iris. " +
		"Magnus kept both for forty years and took me through the tower before he left. " +
		"The stairs have ninety-one steps, and the third one sings. " +
		"He showed me the lamp last, as one shows a sleeping child. " +
		"The cat of the house is called Storm and takes no orders. " +
		"Coal comes in May and in October, when the sea lets it. " +
		"The spare key of the lamp room hangs behind the barometer, under a postcard of Naples. " +
		"Then he shook my hand, and his boat was gone before the fog came in."
	detail   = "behind the barometer, under a postcard of Naples"
	word     = "postcard"
	mention  = "I see a postcard of Naples on the wall. what hangs under it?"
	question = "where does the spare key of the lamp room hang?"
)

// months is the number of files of the logbook. Far fewer fill the context.
const months = 24

func monthFile(number int) string {
	return fmt.Sprintf("watch/%d-%02d.md", 1907+number/12, 1+number%12)
}

// month is one file of the logbook: a line for each of 28 nights. It takes about
// 1200 tokens: a turn has to be smaller than the tenth of the limit that is kept for summaries.
func month(number int) string {
	text := ""
	for day := 1; day <= 28; day++ {
		night := 31*number + 7*day
		text += fmt.Sprintf("%d-%02d-%02d wind NW-%d, glass %d.%02d, oil %d.%d pints; "+
			"SS-Ardmore of Leith passed %02d.%02d, lamp trimmed %02d.%02d, fog-signal for %d.%d hours\n",
			1907+number/12, 1+number%12, day, night%9, 28+night%3, (night*17)%100, 2+night%3, (night*3)%10,
			(night*5)%24, (night*13)%60, night%6, (night*7)%60, night%9, (night*3)%10)
	}
	return text
}
