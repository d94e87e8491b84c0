package acp

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	sdk "github.com/coder/acp-go-sdk"

	"lethe/agent/home"
	"lethe/agent/status"
	"lethe/bridge/report"
	"lethe/internal/screen"
)

// The options of a session are of its identity: whoever changes one changes it for all of its sessions.
const (
	modelOption = "model"
	limitOption = "limit"
)

// limits are the context limits that are offered, in tokens. Others may be set.
var limits = []string{"16000", "32000", "64000", "100000", "128000", "200000", "400000", "1000000"}

// options returns the options of the identity as they are.
func (s *server) options() ([]sdk.SessionConfigOption, error) {
	state, err := home.Fold(s.self.Identity, s.Store)
	if err != nil {
		return nil, err
	}
	model := cmp.Or(state.WantModel, state.Stable.Params.Model)
	tokens := s.self.Limit()
	if now, _ := status.Read(s.self.Dir); !s.self.Inside() { // as the process has it that runs it
		tokens = cmp.Or(now.ContextLimit, tokens)
	}
	limit := strconv.Itoa(tokens)
	list := []sdk.SessionConfigOption{
		choice(modelOption, "Model", "what the agent thinks with", model, s.Models),
		choice(limitOption, "Context", "tokens of a request with its answer at most", limit, limits),
	}
	list[0].Select.Category = sdk.Ptr(sdk.SessionConfigOptionCategoryModel)
	return list, nil
}

// choice makes an option that has one of some values.
func choice(id sdk.SessionConfigId, name, about, current string, values []string) sdk.SessionConfigOption {
	if !slices.Contains(values, current) {
		values = append([]string{current}, values...)
	}
	list := sdk.SessionConfigSelectOptionsUngrouped{}
	for _, value := range values {
		shown := screen.Sanitize(value)
		list = append(list, sdk.SessionConfigSelectOption{Name: shown, Value: sdk.SessionConfigValueId(value)})
	}
	return sdk.SessionConfigOption{Select: &sdk.SessionConfigOptionSelect{
		Id: id, Name: name, Description: &about, CurrentValue: sdk.SessionConfigValueId(current),
		Options: sdk.SessionConfigSelectOptions{Ungrouped: &list}, Type: "select",
	}}
}

// SetSessionConfigOption changes the model, as /model does, or the context limit for as long as this process lasts.
func (s *server) SetSessionConfigOption(ctx context.Context, request sdk.SetSessionConfigOptionRequest) (
	out sdk.SetSessionConfigOptionResponse, err error) {
	asked := request.ValueId
	if asked == nil {
		return out, invalid("an option has one of the values that session/new lists")
	}
	one, err := s.session(asked.SessionId)
	if err != nil {
		return out, err
	}
	switch asked.ConfigId {
	case modelOption:
		err = one.setModel(ctx, string(asked.Value))
	case limitOption:
		err = one.setLimit(ctx, string(asked.Value))
	default:
		err = invalid("there is no option %.40q; there are %s and %s", asked.ConfigId, modelOption, limitOption)
	}
	if err == nil {
		out.ConfigOptions, err = s.options()
	}
	return out, refused(err)
}

// setModel has the identity use another model, and waits until it has tried it.
func (s *session) setModel(ctx context.Context, model string) error {
	if model == "" {
		return invalid("the model needs a name")
	}
	answer, err := report.Switch(ctx, s.self.Identity, model)
	if err != nil {
		return err
	}
	if refusal := answer.Get("text"); refusal != "" && answer.Get("use") == "" {
		return invalid("%s", screen.Sanitize(refusal))
	}
	return nil
}

// setLimit has the identity go on with another context limit.
func (s *session) setLimit(ctx context.Context, value string) error {
	limit, err := strconv.Atoi(value)
	if err != nil || limit < 1 {
		return invalid("a limit is a number of tokens, and not %.40q", value)
	}
	if now, _ := status.Read(s.self.Dir); len(now.Answering) > 0 {
		return invalid("%s is answering; change the limit when it has", s.self.Name)
	}
	return s.self.SetLimit(ctx, limit)
}
