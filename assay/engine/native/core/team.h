// A team of threads that run one job together. Python waits for them in short turns, so that it notices an interrupt.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace assay {

struct Cancelled {};

class Team {
  public:
    explicit Team(int size) : size_(size) {
        for (int i = 0; i < size; i++) threads_.emplace_back([this, i] { work(i); });
    }
    ~Team() {
        cancel();
        {
            std::unique_lock lock(mutex_);
            idle_.wait(lock, [this] { return running_ == 0; });
            over_ = true;
            job_number_++;
        }
        wake_.notify_all();
        for (auto& thread : threads_) thread.join();
    }

    int size() const { return size_; }

    // Every thread runs `job` with its number. One job at a time.
    void start(std::function<void(int)> job) {
        {
            std::lock_guard lock(mutex_);
            if (running_) throw std::logic_error("the core is at work already");
            job_ = std::move(job);
            error_ = nullptr;
            stopping_ = false;
            arrived_ = 0;
            running_ = size_;
            job_number_++;
        }
        wake_.notify_all();
    }

    // Waits for the job, at most so long, and says whether it is done. Throws the exception that the job threw.
    bool wait(int milliseconds) {
        std::unique_lock lock(mutex_);
        if (!idle_.wait_for(lock, std::chrono::milliseconds(milliseconds), [this] { return running_ == 0; }))
            return false;
        if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
        return true;
    }

    void cancel() { stopping_ = true; }

    // Throws Cancelled if the job was cancelled. Long jobs call it now and then.
    void check() const {
        if (stopping_.load(std::memory_order_relaxed)) throw Cancelled{};
    }

    // A barrier: no thread goes on before all threads have come.
    void meet() {
        check();
        int round = round_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == size_) {
            arrived_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
            return;
        }
        for (int turns = 0; round_.load(std::memory_order_acquire) == round; turns++) {
            if (turns > 4000) std::this_thread::yield();
            else pause();
            check();
        }
    }

  private:
    static void pause() {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
    }

    void work(int number) {
        long seen = 0;
        for (;;) {
            {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [&] { return job_number_ != seen; });
                seen = job_number_;
                if (over_) return;
            }
            try {
                job_(number);
            } catch (...) {
                std::lock_guard lock(mutex_);
                if (!error_) error_ = std::current_exception();
                stopping_ = true;
            }
            bool last;
            {
                std::lock_guard lock(mutex_);
                last = --running_ == 0;
            }
            if (last) idle_.notify_all();
        }
    }

    const int size_;
    std::vector<std::thread> threads_;
    std::function<void(int)> job_;
    std::mutex mutex_;
    std::condition_variable wake_, idle_;
    std::exception_ptr error_;
    long job_number_ = 0;
    int running_ = 0;
    bool over_ = false;
    std::atomic<bool> stopping_{false};
    std::atomic<int> arrived_{0}, round_{0};
};

}  // namespace assay
