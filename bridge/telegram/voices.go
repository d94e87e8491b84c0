package telegram

import (
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"lethe/internal/status"
)

// voices is who hears and speaks in the rooms: the peers there, and the agents.
type voices struct {
	home string

	mu     sync.Mutex
	peers  map[string]string          // rooms, by peer
	topics map[string]int             // of the newest message heard, by peer
	agents map[string]map[string]bool // names that were seen on lines, by room
	looked map[string]time.Time       // when the status files were asked, by room
}

// lookAgain is how often the status files are asked who is in a room.
const lookAgain = 10 * time.Second

func newVoices(home string) *voices {
	return &voices{home: home, topics: map[string]int{}, agents: map[string]map[string]bool{}, looked: map[string]time.Time{}}
}

func (v *voices) setPeers(peers map[string]string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.peers = maps.Clone(peers)
}

func (v *voices) roomOf(peer string) (room string, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	room, ok = v.peers[peer]
	return room, ok
}

// settled says whether it has been told which peers there are.
func (v *voices) settled() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.peers != nil
}

// heardIn notes the topic of the newest message from a peer.
func (v *voices) heardIn(peer string, topic int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.topics[peer] = topic
}

// topicOf is the topic that a peer was last heard in, since the bridge started.
func (v *voices) topicOf(peer string) (topic int, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	topic, ok = v.topics[peer]
	return topic, ok
}

// audience is the peers that hear each room.
func (v *voices) audience() map[string][]string {
	v.mu.Lock()
	defer v.mu.Unlock()
	rooms := map[string][]string{}
	for key, room := range v.peers {
		rooms[room] = append(rooms[room], key)
	}
	return rooms
}

// several notes that an agent spoke in a room, and says whether it is not the only
// one: another was seen on a line since the bridge started, or listens there.
func (v *voices) several(room, name string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.agents[room] == nil {
		v.agents[room] = map[string]bool{}
	}
	v.agents[room][name] = true
	if len(v.agents[room]) == 1 && time.Since(v.looked[room]) >= lookAgain {
		v.looked[room] = time.Now()
		for _, other := range listeners(v.home, room) {
			v.agents[room][other] = true
		}
	}
	return len(v.agents[room]) > 1
}

// listeners are the names of the identities that run and hear a room, sorted.
func listeners(home, room string) []string {
	dirs, _ := filepath.Glob(filepath.Join(home, "agents", "*")) // none is nobody
	var names []string
	for _, dir := range dirs {
		s, err := status.Read(dir)
		if err != nil || s.State == status.Stopped || !slices.Contains(s.Rooms, room) {
			continue
		}
		if status.Alive(s.PID) {
			names = append(names, s.Name)
		}
	}
	slices.Sort(names)
	return names
}
